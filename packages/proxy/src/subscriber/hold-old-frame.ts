import { HeldFrame, smallFrameBytes, type FrameHolder } from "@bunting/server";

const heldFrames = new WeakMap<Uint8Array, HeldFrame>();

/**
 * Charges a stream, or another one that holds the frame, too, with a shared frame that it is being sent although there is a newer one:
 * such a frame is there for those only that are slow to take it. Undefined if it is too small to count; else the stream has to release it.
 */
export function holdOldFrame(frame: Uint8Array, stream: FrameHolder): HeldFrame | undefined {
  if (frame.byteLength < smallFrameBytes) return undefined;
  const held = heldFrames.get(frame) ?? new HeldFrame(frame.byteLength, true);
  heldFrames.set(frame, held);
  held.hold(stream);
  return held;
}

import { HeldFrame, smallFrameBytes, type FrameHolder } from "@bunting/server";

const heldFrames = new WeakMap<Uint8Array, HeldFrame>();

/** The shared frame that a stream is being sent. Once it is an old one, it is there for those only that are slow to take it. */
export class FrameInFlight {
  readonly #stream: FrameHolder;
  #frame: Uint8Array | undefined;
  #held: HeldFrame | undefined;

  constructor(stream: FrameHolder) {
    this.#stream = stream;
  }

  begin(frame: Uint8Array): void {
    this.#frame = frame;
  }

  /** There is a newer one: this stream is charged, or another one that holds the frame, too. */
  isOld(): void {
    const frame = this.#frame;
    if (frame === undefined || frame.byteLength < smallFrameBytes || this.#held !== undefined) return;
    this.#held = heldFrames.get(frame) ?? new HeldFrame(frame.byteLength, true);
    heldFrames.set(frame, this.#held);
    this.#held.hold(this.#stream);
  }

  /** The peer has taken it, or has gone. */
  end(): void {
    this.#held?.release(this.#stream);
    this.#held = undefined;
    this.#frame = undefined;
  }
}

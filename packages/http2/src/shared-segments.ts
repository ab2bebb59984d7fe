import { frameHeadBytes, frameType, maxFrameBytes, writeHead } from "./frames.js";
import { HeldFrame } from "./held-frame.js";

/** Content of one segment at most: what a stream sends in one turn. */
export const maxSegmentContentBytes = 64 * 1024;
/** Bounds of what this process keeps. A broadcast needs one segment, or few; their size is bounded, so no peer is charged for them. */
const maxSlots = 64;
const maxKeptBytes = 1024 * 1024;

/** DATA frames of shared content, ready to be written to any stream of the same id: must not be modified. */
export interface Segment {
  readonly bytes: Buffer;
  /** Streams for which the system has not taken it: one of them is charged, because it may not be kept here any more. */
  readonly holders: HeldFrame;
}

/** A part of shared content, on streams of one id. */
interface Slot {
  readonly contentId: number;
  readonly streamId: number;
  readonly start: number;
  readonly end: number;
  /** Undefined until a second stream asks for it. */
  segment: Segment | undefined;
}

/**
 * The segments that streams of different connections share. Most clients have one stream, of the same id and with the same
 * windows, so that a broadcast to ten thousand of them writes the same segment ten thousand times.
 *
 * A segment is made when the second stream asks for it: what only one stream sends is not copied. Those used last are kept.
 */
export class SharedSegments {
  readonly #contentIds = new WeakMap<Uint8Array, number>();
  #lastContentId = 0;
  /** The one used last is the first. */
  readonly #slots: Slot[] = [];
  #keptBytes = 0;

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** The content between two offsets for this stream id. Undefined if no other stream has asked for the same lately. */
  get(content: Uint8Array, streamId: number, start: number, end: number): Segment | undefined {
    const contentId = this.#contentIds.get(content);
    if (contentId === undefined) {
      this.#contentIds.set(content, ++this.#lastContentId);
      this.#keep({ contentId: this.#lastContentId, streamId, start, end, segment: undefined });
      return undefined;
    }
    const slot = this.#use(contentId, streamId, start, end);
    if (slot === undefined) {
      this.#keep({ contentId, streamId, start, end, segment: undefined });
      return undefined;
    }
    return slot.segment ?? this.#fill(slot, content);
  }

  #use(contentId: number, streamId: number, start: number, end: number): Slot | undefined {
    const slots = this.#slots;
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index];
      if (slot?.contentId !== contentId || slot.streamId !== streamId) continue;
      if (slot.start !== start || slot.end !== end) continue;
      if (index > 0) slots.unshift(...slots.splice(index, 1));
      return slot;
    }
    return undefined;
  }

  #fill(slot: Slot, content: Uint8Array): Segment {
    const bytes = dataFrames(content, slot);
    const segment = { bytes, holders: new HeldFrame(bytes.length, true) };
    slot.segment = segment;
    this.#keptBytes += bytes.length;
    this.#bound();
    return segment;
  }

  #keep(slot: Slot): void {
    this.#slots.unshift(slot);
    this.#bound();
  }

  #bound(): void {
    while (this.#slots.length > maxSlots || this.#keptBytes > maxKeptBytes)
      this.#keptBytes -= this.#slots.pop()?.segment?.bytes.length ?? 0;
  }
}

function dataFrames(content: Uint8Array, { streamId, start, end }: Slot): Buffer {
  const frames = Math.ceil((end - start) / maxFrameBytes);
  // Not of node's pool, whose slab a segment would keep.
  const bytes = Buffer.allocUnsafeSlow(end - start + frames * frameHeadBytes);
  let at = 0;
  for (let from = start; from < end; from += maxFrameBytes) {
    const length = Math.min(end - from, maxFrameBytes);
    at = writeHead(bytes, at, length, frameType.data, 0, streamId);
    bytes.set(content.subarray(from, from + length), at);
    at += length;
  }
  return bytes;
}

/** The segments of this process. */
export const sharedSegments = new SharedSegments();

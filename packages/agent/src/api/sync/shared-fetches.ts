import { createHash } from "node:crypto";
import { framePrefixBytes, type TransportStream } from "@bunting/rpc";
import { HeldFrame } from "@bunting/server";
import { countReleased } from "../../v8/collect-released.js";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { FlagsFrame, selectedFlags } from "./flags-frame.js";

const noFlags = new FlagsFrame([]);

/** The document in a response, and a strong ETag of it. */
export interface FlagsDocument {
  readonly body: Buffer;
  readonly etag: string;
}

/**
 * The framed FetchAllFlagsResponses of the current flags, one for each selector, however many calls have it unread. They are held weakly:
 * a response is needed only until the calls that have it are over.
 */
export class SharedFetches {
  readonly #reader: FlagReader;
  /** By the selector's text. Only selectors of flags that exist: clients may invent any number of others. */
  readonly #frames = new Map<string, WeakRef<Buffer>>();
  /** Frames that calls have not taken yet, by the selector's text. */
  readonly #held = new Map<string, HeldFrame>();
  readonly #etags = new WeakMap<Buffer, string>();

  constructor(reader: FlagReader) {
    this.#reader = reader;
  }

  /** The frame for the flags that are selected now. */
  frameOf(selection: Selection): Buffer {
    const shared = this.#frames.get(selection.text)?.deref();
    if (shared !== undefined) return shared;
    const { frame, text } = new FlagsFrame(selectedFlags(this.#reader, selection));
    if (text.equals(noFlags.text)) return noFlags.frame;
    // Garbage once the calls are over.
    countReleased(frame.byteLength);
    this.#frames.set(selection.text, new WeakRef(frame));
    return frame;
  }

  /** The document in that frame: a part of it, not a copy. */
  documentOf(selection: Selection): FlagsDocument {
    const frame = this.frameOf(selection);
    const body = documentIn(frame);
    let etag = this.#etags.get(frame);
    if (etag === undefined) {
      etag = `"${createHash("sha256").update(body).digest("hex")}"`;
      this.#etags.set(frame, etag);
    }
    return { body, etag };
  }

  /** That frame for a call, which is charged for it if it has not taken it when the flags have changed. */
  frameFor(selection: Selection, stream: TransportStream): Buffer {
    const { text } = selection;
    const frame = this.frameOf(selection);
    const held = this.#held.get(text) ?? new HeldFrame(frame.byteLength);
    this.#held.set(text, held);
    held.hold(stream);
    stream.onClose(() => {
      held.release(stream);
      if (!held.isHeld && this.#held.get(text) === held) this.#held.delete(text);
    });
    return frame;
  }

  /** To be called when flags have changed. */
  clear(): void {
    for (const held of this.#held.values()) held.supersede();
    this.#held.clear();
    this.#frames.clear();
  }
}

/** The message has one field: its tag, the length of the text in groups of seven bits, and the text. */
function documentIn(frame: Buffer): Buffer {
  let at = framePrefixBytes + 1;
  while (((frame[at] ?? 0) & 0x80) !== 0) at++;
  return frame.subarray(at + 1);
}

import { createHash } from "node:crypto";
import { syncV1 } from "@bunting/protocol";
import { frameMessage, framePrefixBytes } from "@bunting/rpc";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { flagConfiguration, selectedConfiguration } from "./flag-configuration.js";

const noFlags = flagConfiguration([]);
const noFlagsFrame = frameOf(noFlags);

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
  readonly #etags = new WeakMap<Buffer, string>();

  constructor(reader: FlagReader) {
    this.#reader = reader;
  }

  /** The frame for the flags that are selected now. */
  frameOf(selection: Selection): Buffer {
    const shared = this.#frames.get(selection.text)?.deref();
    if (shared !== undefined) return shared;
    const configuration = selectedConfiguration(this.#reader, selection);
    if (configuration === noFlags) return noFlagsFrame;
    const frame = frameOf(configuration);
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

  /** To be called when flags have changed. */
  clear(): void {
    this.#frames.clear();
  }
}

/** The message has one field: its tag, the length of the text in groups of seven bits, and the text. */
function documentIn(frame: Buffer): Buffer {
  let at = framePrefixBytes + 1;
  while (((frame[at] ?? 0) & 0x80) !== 0) at++;
  return frame.subarray(at + 1);
}

function frameOf(configuration: string): Buffer {
  const message = syncV1.FetchAllFlagsResponse.encode({ flagConfiguration: configuration }).finish();
  return frameMessage(message);
}

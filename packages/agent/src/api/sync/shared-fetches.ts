import { syncV1 } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { flagConfiguration, selectedConfiguration } from "./flag-configuration.js";

const noFlags = flagConfiguration([]);
const noFlagsFrame = frameOf(noFlags);

/**
 * The framed FetchAllFlagsResponses of the current flags, one for each selector, however many calls have it unread. They are held weakly:
 * a response is needed only until the calls that have it are over.
 */
export class SharedFetches {
  readonly #reader: FlagReader;
  /** By the selector's text. Only selectors of flags that exist: clients may invent any number of others. */
  readonly #frames = new Map<string, WeakRef<Buffer>>();

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

  /** To be called when flags have changed. */
  clear(): void {
    this.#frames.clear();
  }
}

function frameOf(configuration: string): Buffer {
  const message = syncV1.FetchAllFlagsResponse.encode({ flagConfiguration: configuration }).finish();
  return frameMessage(message);
}

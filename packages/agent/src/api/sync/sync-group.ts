import { createHash } from "node:crypto";
import { frameMessage } from "@bunting/rpc";
import { WireWriter } from "../codec/wire-writer.js";
import type { FlagChange } from "../../store/flag-change.js";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { StreamGroup } from "../stream-group.js";
import { selectedConfiguration } from "./flag-configuration.js";

/** The flags of a selector at one moment, encoded once for all streams. */
export interface SyncSnapshot {
  readonly digest: string;
  /** The framed SyncFlagsResponse. */
  readonly frame: Buffer;
}

/** A stream as its group sees it: it takes the newest snapshot when it is woken, or else when its write has finished. */
export interface SyncSubscriber {
  wake(): void;
}

/** The SyncFlags streams with one selector. */
export class SyncGroup extends StreamGroup<SyncSubscriber> {
  readonly #reader: FlagReader;
  /** `sync_context`, encoded. */
  readonly #context: Buffer;
  #snapshot: SyncSnapshot | undefined;

  constructor(selection: Selection, reader: FlagReader, context: Buffer) {
    super(selection);
    this.#reader = reader;
    this.#context = context;
  }

  /** Drops the snapshot if a flag of the set changed, and sends the streams the new one. */
  publish(changes: readonly FlagChange[]): void {
    if (!this.isChangedBy(changes)) return;
    this.#snapshot = undefined;
    this.wake();
  }

  wake(): void {
    for (const subscriber of this.streams) subscriber.wake();
  }

  /** The newest snapshot, encoded when it is first needed: versions nobody could receive are skipped. */
  snapshot(): SyncSnapshot {
    return (this.#snapshot ??= this.#encode());
  }

  #encode(): SyncSnapshot {
    const configuration = selectedConfiguration(this.#reader, this.selection);
    const writer = new WireWriter();
    // Written even if empty: some clients call GetMetadata after a message without it.
    writer.bytesField(2, this.#context);
    writer.stringField(1, configuration);
    return {
      digest: createHash("sha1").update(configuration).digest("base64"),
      frame: frameMessage(writer.finish()),
    };
  }
}

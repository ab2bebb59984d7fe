import { createHash } from "node:crypto";
import { frameMessage } from "@bunting/rpc";
import { WireWriter } from "../codec/wire-writer.js";
import type { FlagChange, FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { flagConfiguration } from "./flag-configuration.js";

/** The flags of a selector at one moment, encoded once for all who are sent them. */
export interface SyncSnapshot {
  readonly digest: string;
  /** The framed SyncFlagsResponse. */
  readonly frame: Buffer;
}

/** A stream as its group sees it: it takes the newest snapshot when it is woken, or when it is no longer writing. */
export interface SyncSubscriber {
  wake(): void;
}

/** The streams with one selector. */
export class SyncGroup {
  readonly #selection: Selection;
  readonly #reader: FlagReader;
  /** `sync_context`, encoded. */
  readonly #context: Buffer;
  readonly #subscribers = new Set<SyncSubscriber>();
  #snapshot: SyncSnapshot | undefined;

  constructor(selection: Selection, reader: FlagReader, context: Buffer) {
    this.#selection = selection;
    this.#reader = reader;
    this.#context = context;
  }

  /** The text of the selector. */
  get text(): string {
    return this.#selection.text;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  add(subscriber: SyncSubscriber): void {
    this.#subscribers.add(subscriber);
  }

  delete(subscriber: SyncSubscriber): void {
    this.#subscribers.delete(subscriber);
  }

  /** Makes what was encoded out of date if a flag of the set changed. */
  publish(changes: readonly FlagChange[]): void {
    const { select } = this.#selection;
    const isOurs = ({ before, after }: FlagChange): boolean =>
      select === undefined ||
      (before !== undefined && select(before)) ||
      (after !== undefined && select(after));
    if (!changes.some(isOurs)) return;
    this.#snapshot = undefined;
    this.wake();
  }

  wake(): void {
    for (const subscriber of this.#subscribers) subscriber.wake();
  }

  /** The document of the flags that are selected now. */
  configuration(): string {
    const { select } = this.#selection;
    const flags = this.#reader.flags();
    return flagConfiguration(select === undefined ? flags : [...flags].filter(select));
  }

  /** The newest snapshot, encoded when it is first asked for: of versions that nobody could take, none is. */
  snapshot(): SyncSnapshot {
    return (this.#snapshot ??= this.#encode());
  }

  #encode(): SyncSnapshot {
    const configuration = this.configuration();
    const writer = new WireWriter();
    // Also if it is empty: clients of which some ask for GetMetadata where a message has none.
    writer.bytesField(2, this.#context);
    writer.stringField(1, configuration);
    return {
      digest: createHash("sha1").update(configuration).digest("base64"),
      frame: frameMessage(writer.finish()),
    };
  }
}

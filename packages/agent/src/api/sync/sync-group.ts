import { createHash } from "node:crypto";
import { HeldFrame } from "@bunting/server";
import type { FlagChange } from "../../store/flag-change.js";
import { countReleased } from "../../v8/collect-released.js";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";
import { StreamGroup } from "../stream-group.js";
import { FlagsFrame, selectedFlags } from "./flags-frame.js";

/** The flags of a selector at one moment, encoded once for all streams. */
export interface SyncSnapshot {
  readonly digest: string;
  /** The framed SyncFlagsResponse. */
  readonly frame: Buffer;
  readonly held: HeldFrame;
}

/** A stream as its group sees it: it takes the newest snapshot when it is woken, or else when its write has finished. */
export interface SyncSubscriber {
  wake(): void;
}

/** The SyncFlags streams with one selector. */
export class SyncGroup extends StreamGroup<SyncSubscriber> {
  readonly #reader: FlagReader;
  /** The fields behind the document: `sync_context`, written even if it is empty, as some clients call GetMetadata after a message without it. */
  readonly #following: Buffer;
  #snapshot: SyncSnapshot | undefined;
  /** The newest one that was written. */
  #frame: FlagsFrame | undefined;

  constructor(selection: Selection, reader: FlagReader, following: Buffer) {
    super(selection);
    this.#reader = reader;
    this.#following = following;
  }

  /** Drops the snapshot if a flag of the set changed, and sends the streams the new one. */
  publish(changes: readonly FlagChange[]): void {
    if (!this.isChangedBy(changes)) return;
    this.#snapshot?.held.supersede();
    this.#snapshot = undefined;
    this.#frame?.forget(new Set(changes.flatMap(({ before }) => before ?? [])));
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
    const previous = this.#frame;
    const frame = new FlagsFrame(selectedFlags(this.#reader, this.selection), this.#following, previous);
    this.#frame = frame;
    if (previous !== undefined) countReleased(previous.frame.byteLength);
    const digest = createHash("sha1").update(frame.text).digest("base64");
    return { digest, frame: frame.frame, held: new HeldFrame(frame.frame.byteLength) };
  }
}

import { isAscii } from "node:buffer";
import type { TopicKey } from "@bunting/protocol";
import { ProxyError } from "../proxy-error.js";
import type { SnapshotBytes } from "../snapshot/snapshot-bytes.js";
import { namespaceOfTopic, type DocumentLedger, type WaitingVersion } from "./document-ledger.js";

/** Heap for a flag beside its text: its key, its hash, its place in the map. Measured with flags of nothing: 330 bytes. */
const bytesPerFlag = 340;

/** Memory for the text in frames, for each of its bytes: one frame for clients of flagd, one for agents. They are outside of the heap, and the container has to hold both. */
const bytesInFrames = 2;

/**
 * Called once there is memory for the version that was not admitted last. `done` has to be called when the source has reported it again, or is known
 * not to: until then the memory is kept free.
 */
export type OfferAgain = (done: () => void) => void;

/** The part of a topic, or of the trial of a version, in the ledger of all documents. */
export class TopicMemory {
  readonly #topic: TopicKey;
  readonly #ledger: DocumentLedger;
  readonly #onRoom: OfferAgain;
  #held: SnapshotBytes | undefined;
  #heldBytes = 0;
  #waiting: WaitingVersion | undefined;

  constructor(topic: TopicKey, ledger: DocumentLedger, onRoom: OfferAgain) {
    this.#topic = topic;
    this.#ledger = ledger;
    this.#onRoom = onRoom;
  }

  /** Whether there is memory to serve this version in place of what is held. */
  admits(bytes: SnapshotBytes): boolean {
    this.forgetRefused();
    const moreBytes = bytesOf(bytes) - this.#heldBytes;
    if (this.#ledger.hasRoom(this.#topic, moreBytes)) return true;
    const waiting = {
      topic: this.#topic,
      moreBytes,
      onRoom: () => this.#onRoom(() => waiting === this.#waiting && this.forgetRefused()),
    };
    this.#waiting = waiting;
    this.#ledger.wait(waiting);
    return false;
  }

  /** The version that was not admitted is not the newest any more. */
  forgetRefused(): void {
    if (this.#waiting !== undefined) this.#ledger.stopWaiting(this.#waiting);
    this.#waiting = undefined;
  }

  /** Counts what is served now. */
  hold(bytes: SnapshotBytes | undefined): void {
    if (bytes === this.#held) return;
    const heldBytes = bytes === undefined ? 0 : bytesOf(bytes);
    this.#held = bytes;
    this.#ledger.add(this.#topic, heldBytes - this.#heldBytes);
    this.#heldBytes = heldBytes;
  }

  /** Gives everything back, for good. */
  close(): void {
    this.forgetRefused();
    this.hold(undefined);
  }

  /** Why the newest version is not served. */
  refusal(): ProxyError {
    const message = `the proxy has no memory for the newest version of ${this.#topic}, beside what it serves of the namespace ${namespaceOfTopic(this.#topic)}: make FeatureFlags there smaller, or give the proxy more memory`;
    return new ProxyError("DOCUMENT_CROWDED_OUT", message);
  }
}

/** On the heap, V8 takes two bytes for each character of a text with one beyond Latin-1. */
function bytesOf({ flags, textLength, textStart, syncFrame }: SnapshotBytes): number {
  const bytesOnHeap = isAscii(syncFrame.subarray(textStart, textStart + textLength)) ? 1 : 2;
  return textLength * (bytesInFrames + bytesOnHeap) + flags.size * bytesPerFlag;
}

import type { ResponseStream } from "@bunting/rpc";
import type { SyncGroup, SyncSubscriber } from "./sync-group.js";

/** One client's SyncFlags stream: one snapshot in flight, then the newest, if it is another. */
export class SyncStream implements SyncSubscriber {
  readonly out: ResponseStream;
  readonly group: SyncGroup;
  /** What it is counted under: its selector and its provider's id. */
  readonly labels: readonly [selector: string, providerId: string];
  readonly openedMs: number;
  readonly #onWritten: (error?: Error) => void;
  #isWriting = false;
  /** Of the last snapshot that was sent. Not the snapshot: a stream that does not read must not keep an old one alive. */
  #sentDigest: string | undefined;

  constructor(
    out: ResponseStream,
    group: SyncGroup,
    labels: readonly [selector: string, providerId: string],
    openedMs: number,
  ) {
    this.out = out;
    this.group = group;
    this.labels = labels;
    this.openedMs = openedMs;
    this.#onWritten = (error) => {
      this.#isWriting = false;
      if (error === undefined) this.wake();
    };
  }

  wake(): void {
    if (this.#isWriting || !this.out.stream.isOpen) return;
    const { digest, frame } = this.group.snapshot();
    if (digest === this.#sentDigest) return;
    this.#isWriting = true;
    this.#sentDigest = digest;
    this.out.write(frame, this.#onWritten);
  }

  /** Sends the newest snapshot even while another is in flight: for a stream that is about to end. */
  flush(): void {
    const { digest, frame } = this.group.snapshot();
    if (digest !== this.#sentDigest) this.out.write(frame);
  }
}

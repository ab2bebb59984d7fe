import type { ResponseStream } from "@bunting/rpc";
import type { HeldFrame } from "@bunting/server";
import { PacedStream } from "../paced-stream.js";
import type { GroupedStream } from "../stream-registry.js";
import type { SyncGroup, SyncSubscriber } from "./sync-group.js";

/** One client's SyncFlags stream: one snapshot in flight, then the newest, if it is another. */
export class SyncStream extends PacedStream implements SyncSubscriber, GroupedStream<SyncGroup> {
  declare readonly out: ResponseStream;
  readonly group: SyncGroup;
  /** What the stream is counted under: its selector and its provider's id. */
  readonly labels: readonly [selector: string, providerId: string];
  readonly openedMs: number;
  /** Of the last snapshot that was sent. Not the snapshot: a stream that does not read must not keep an old one alive. */
  #sentDigest: string | undefined;
  /** The one in flight. */
  #held: HeldFrame | undefined;

  constructor(
    out: ResponseStream,
    group: SyncGroup,
    labels: readonly [selector: string, providerId: string],
    openedMs: number,
  ) {
    super(out);
    this.group = group;
    this.labels = labels;
    this.openedMs = openedMs;
    out.onClose(() => this.#release());
  }

  wake(): void {
    if (!this.isIdle || !this.out.stream.isOpen) return;
    const { digest, frame, held } = this.group.snapshot();
    if (digest === this.#sentDigest) return;
    this.#sentDigest = digest;
    this.#held = held;
    held.hold(this.out.stream);
    this.send(frame);
  }

  /** Sends the newest snapshot, even while another is in flight. */
  flush(): void {
    const { digest, frame } = this.group.snapshot();
    if (digest !== this.#sentDigest) this.out.writeShared(frame);
  }

  protected override onIdle(): void {
    this.#release();
    this.wake();
  }

  #release(): void {
    this.#held?.release(this.out.stream);
    this.#held = undefined;
  }
}

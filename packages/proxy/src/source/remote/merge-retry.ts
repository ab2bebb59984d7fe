import type { FlagDocument } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";

/** Time after which a merge that there was no memory for is tried once more. */
const retryMs = 30_000;

/** Has a topic merge its sides once more that nobody could be told of: neither the cluster nor the remote reports again what it knows to be taken. */
export class MergeRetry {
  readonly #clock: Clock;
  readonly #merge: (remote: FlagDocument | undefined) => void;
  #remote: FlagDocument | undefined;
  #cancel: (() => void) | undefined;

  /** @param merge is given what the remote said last, if that was passed over */
  constructor(clock: Clock, merge: (remote: FlagDocument | undefined) => void) {
    this.#clock = clock;
    this.#merge = merge;
  }

  /** @param remote what it said, if that is passed over; undefined: what was passed over before still is */
  later(remote: FlagDocument | undefined): void {
    this.#remote = remote ?? this.#remote;
    this.#cancel ??= this.#clock.after(retryMs, () => {
      const passedOver = this.#remote;
      this.stop();
      this.#merge(passedOver);
    });
  }

  /** The remote has said something else, or is another one. */
  forgetRemote(): void {
    this.#remote = undefined;
  }

  stop(): void {
    this.#remote = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

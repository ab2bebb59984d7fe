import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { versionIn } from "./version-in.js";
import type { VersionJudge } from "./version-judge.js";

/** What an agent costs that a provider evaluates from in its own process: one stream that takes whatever comes, and judges it. */
export class InProcessProvider {
  readonly #client: StockSyncClient;
  readonly #subscription: SyncSubscription;
  readonly #judge: VersionJudge;
  #isClosed = false;

  /**
   * @param address of the agent's sync port. Call `close` afterwards.
   * @param onEnd is called if the stream ends before that.
   */
  constructor(address: string, judge: VersionJudge, onEnd: (details: string) => void) {
    this.#client = new StockSyncClient(address);
    this.#judge = judge;
    this.#subscription = this.#client.subscribe();
    void this.#drain();
    void this.#subscription.ended.then(({ code, details }) => {
      if (!this.#isClosed) onEnd(`${code}: ${details}`);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription.cancel();
    this.#client.close();
  }

  async #drain(): Promise<void> {
    const ended = this.#subscription.ended.then(() => "ended" as const);
    for (;;) {
      // The race is held until the stream has ended, and with it what it was won by: not a message of a megabyte.
      const next = this.#subscription.messages
        .nextEvent("flags", 60_000)
        .then(versionIn, () => "none" as const);
      const version = await Promise.race([ended, next]);
      if (version === "ended" || this.#isClosed) return;
      // A message is pushed once, and may have waited for its reader: no edit is due in it.
      if (version !== "none") this.#judge.take(version, -Infinity);
    }
  }
}

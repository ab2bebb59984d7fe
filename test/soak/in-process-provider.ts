import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";

/** What an agent costs that a provider evaluates from in its own process: one stream that takes whatever comes. */
export class InProcessProvider {
  readonly #client: StockSyncClient;
  readonly #subscription: SyncSubscription;

  /** @param address of the agent's sync port. Call `close` afterwards. */
  constructor(address: string) {
    this.#client = new StockSyncClient(address);
    this.#subscription = this.#client.subscribe();
    // Messages are dropped, or they would fill this process.
    void this.#drain();
  }

  close(): void {
    this.#subscription.cancel();
    this.#client.close();
  }

  async #drain(): Promise<void> {
    const ended = this.#subscription.ended.then(() => "ended");
    const next = async (): Promise<string> =>
      this.#subscription.messages.nextEvent("flags", 60_000).then(
        () => "flags",
        () => "none",
      );
    while ((await Promise.race([ended, next()])) !== "ended");
  }
}

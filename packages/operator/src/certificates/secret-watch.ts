import type { ClusterWatches } from "@bunting/kube";
import { Signal, type Context, type Runnable } from "@bunting/runtime";
import { secretType, type SecretContent, type SecretObject } from "./secret-content.js";

export interface SecretWatchOptions {
  readonly watches: Pick<ClusterWatches, "inform">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Pick<Context, "logger">;
}

/** What a Secret of the operator's holds, on each replica. */
export class SecretWatch<Item> implements Runnable {
  readonly name: string;
  readonly #content: SecretContent<Item>;
  readonly #options: SecretWatchOptions;
  readonly #changes = new Signal<readonly Item[]>();
  #items: readonly Item[] = [];
  #lastItems: readonly Item[] = [];

  constructor(content: SecretContent<Item>, options: SecretWatchOptions) {
    this.name = `watch of ${content.what}`;
    this.#content = content;
    this.#options = options;
  }

  /** Empty until the Secret was read, when it is gone, and while nobody watches it. */
  get items(): readonly Item[] {
    return this.#items;
  }

  /** What the Secret held when it last held something. */
  get lastItems(): readonly Item[] {
    return this.#lastItems;
  }

  /** Calls the listener with each change from now on. */
  onChange(listener: (items: readonly Item[]) => void): void {
    this.#changes.listen(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, namespace } = this.#options;
    const scope = { type: secretType, namespace, name: this.#content.name };
    const handler = { changed: (_key: string, secret: SecretObject | undefined) => this.#read(secret) };
    await watches.inform<SecretObject>(scope, { handler }).run(signal);
    // In a later term as the leader, what others have written meanwhile is not known before it is read.
    this.#items = [];
  }

  #read(secret: SecretObject | undefined): void {
    const { name, read } = this.#content;
    try {
      this.#items = secret === undefined ? [] : read(secret);
    } catch (error) {
      // The leader makes it anew.
      this.#options.context.logger.warn({ error, secret: name }, "the Secret can't be read");
      this.#items = [];
    }
    if (this.#items.length > 0) this.#lastItems = this.#items;
    this.#changes.emit(this.#items);
  }
}

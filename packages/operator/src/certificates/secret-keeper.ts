import { type ObjectScope, type RestClient, unlessNotFound } from "@bunting/kube";
import { WorkQueue, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { secretType, type SecretContent, type SecretObject } from "./secret-content.js";

export interface SecretKeeperOptions<Item> {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Context;
  readonly content: SecretContent<Item>;
  readonly rules: SecretRules<Item>;
}

/** What the leader makes of a Secret. */
export interface SecretRules<Item> {
  /**
   * The list as it should be now; the same array if nothing is to change.
   *
   * @param stored undefined: there is no Secret, or it can't be read
   * @param known what the Secret held when this process could last read it
   */
  readonly next: (stored: readonly Item[] | undefined, known: readonly Item[]) => readonly Item[];
  /** The next time at which something is to change by itself, in ms since 1970; Infinity: never. */
  readonly dueMs: (items: readonly Item[]) => number;
  /** What logs may show of one: no secret. */
  readonly describe: (item: Item) => object;
  /** Called with the list whenever it was looked at, and with none when this process leads no longer. */
  readonly kept?: (items: readonly Item[]) => void;
}

/** The wall clock may be set, and the Secret is read again, so no wait is longer. */
const longestWaitMs = 600_000;

/**
 * Makes what a Secret holds, renews it, and stores it. Only the leader may run it; writes carry the version that was read, so that of two that
 * think they lead, one begins again.
 */
export class SecretKeeper<Item> implements Runnable {
  readonly name: string;
  readonly #options: SecretKeeperOptions<Item>;
  readonly #scope: ObjectScope;
  readonly #queue: WorkQueue<string>;
  /** What the Secret held when it could last be read. */
  #known: readonly Item[] = [];

  constructor(options: SecretKeeperOptions<Item>) {
    const { content, context, namespace } = options;
    this.name = content.what;
    this.#options = options;
    this.#scope = { type: secretType, namespace, name: content.name };
    this.#queue = new WorkQueue({
      name: this.name,
      work: (_key, signal) => this.#keep(signal),
      backoff: { firstMs: 1_000, capMs: 60_000 },
      clock: context.clock,
      onError: (key, error, retryMs) =>
        context.logger.warn({ error, retryMs, secret: key }, `${content.what} can't be kept`),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.look();
    await this.#queue.run(signal);
    // Another leader keeps it from now on.
    this.#options.rules.kept?.([]);
  }

  /** To be called when the Secret, or what its rules go by, has changed. */
  look(): void {
    this.#queue.add(this.#options.content.name);
  }

  async #keep(signal: AbortSignal): Promise<WorkResult> {
    const { client, context, content, rules } = this.#options;
    const secret: SecretObject | undefined = await unlessNotFound(client.get(this.#scope, signal));
    const stored = this.#itemsOf(secret);
    const items = rules.next(stored, this.#known);
    const isWanted = secret !== undefined || items.length > 0;
    if (items !== stored && isWanted) {
      await this.#write(secret, items, signal);
      context.logger.info({ items: items.map(rules.describe) }, `${content.what} has changed`);
    }
    this.#known = items;
    rules.kept?.(items);
    const dueMs = Math.max(0, rules.dueMs(items) - context.clock.now());
    return { requeueAfterMs: Math.min(dueMs, longestWaitMs) };
  }

  /** Undefined if there is none, or it holds something else. */
  #itemsOf(secret: SecretObject | undefined): readonly Item[] | undefined {
    if (secret === undefined) return undefined;
    const { content, context } = this.#options;
    try {
      return content.read(secret);
    } catch (error) {
      context.logger.warn({ error, secret: content.name }, "the Secret can't be read: it is made anew");
      return undefined;
    }
  }

  async #write(before: SecretObject | undefined, items: readonly Item[], signal: AbortSignal): Promise<void> {
    const { client, namespace, content } = this.#options;
    const data = content.dataOf(items);
    if (before !== undefined) {
      await client.update(this.#scope, { ...before, data: { ...before.data, ...data } }, signal);
      return;
    }
    const metadata = { name: content.name, namespace };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
    await client.create({ type: secretType, namespace }, secret, signal);
  }
}

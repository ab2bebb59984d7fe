import { eventually } from "./event-queue.js";
import type { FaultyApiServer } from "./faulty-api-server/index.js";

/** How often each FeatureFlag is edited. */
export const editEveryMs = 200;

/** Edits FeatureFlags again and again; the flag `version` holds the number of the edit, and when it was made. */
export class FlowingEdits {
  readonly #api: FaultyApiServer;
  readonly #topics: readonly string[];
  readonly #others: Readonly<Record<string, unknown>>;
  #timer: NodeJS.Timeout | undefined;
  version = 0;

  /**
   * @param topics `namespace/name` of each
   * @param others further flags, which stay as they are
   */
  constructor(
    api: FaultyApiServer,
    topics: readonly string[],
    others: Readonly<Record<string, unknown>> = {},
  ) {
    this.#api = api;
    this.#topics = topics;
    this.#others = others;
  }

  put(): void {
    this.version++;
    const variants = { v: this.version, at: Date.now() };
    for (const topic of this.#topics) {
      const [namespace = "", name = ""] = topic.split("/");
      const flags = { ...this.#others, version: { state: "ENABLED", variants, defaultVariant: "v" } };
      this.#api.put(namespace, name, { flagSpec: { flags } });
    }
  }

  begin(): void {
    this.#timer ??= setInterval(() => this.put(), editEveryMs);
  }

  /** Resolves when there were so many more. */
  async more(count: number): Promise<void> {
    const until = this.version + count;
    await eventually(() => this.version >= until, `${count} more edits`, 60_000);
  }

  /** As many as are made in so long. */
  async during(ms: number): Promise<void> {
    await this.more(Math.ceil(ms / editEveryMs));
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

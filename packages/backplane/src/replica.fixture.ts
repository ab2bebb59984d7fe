import { createLogger, systemClock, type Clock, type Logger } from "@bunting/runtime";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import type { BackplaneError } from "./backplane-error.js";
import { checkOptions, type BackplaneOptions, type CheckedOptions } from "./backplane-options.js";
import { RedisConnection } from "./connection/redis-connection.js";
import { Keys } from "./keys.js";

/** What a replica has of Redis: a connection that runs until `stop`. */
export class TestReplica {
  readonly options: CheckedOptions;
  readonly keys: Keys;
  readonly connection: RedisConnection;
  readonly changes = new EventQueue<boolean>();
  readonly lines: string[] = [];
  readonly logger: Logger;
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  constructor(options: BackplaneOptions, clock: Clock = systemClock) {
    this.options = checkOptions(options);
    this.keys = new Keys(this.options.keyPrefix);
    this.logger = createLogger({ format: "json", debug: true }, { write: (line) => this.lines.push(line) });
    this.connection = new RedisConnection({
      options: this.options,
      clientName: "bunting-test",
      context: { clock, logger: this.logger },
      onChange: (isUp) => this.changes.push(isUp),
    });
    this.run((signal) => this.connection.run(signal));
  }

  /** A replica whose connection is up. */
  static async connected(options: BackplaneOptions, clock?: Clock): Promise<TestReplica> {
    const replica = new TestReplica(options, clock);
    await replica.next(true);
    return replica;
  }

  /** Waits until the connection is up, or is not. */
  async next(isUp: boolean): Promise<void> {
    await this.changes.nextMatching((change) => change === isUp, isUp ? "a connection" : "its end");
  }

  /** Runs something else until `stop`. */
  run(running: (signal: AbortSignal) => Promise<unknown>): void {
    this.#running.push(running(this.#stopping.signal));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}

/** Stops whatever a test has started, the last first. */
export class Stops {
  readonly #stops: (() => Promise<void> | void)[] = [];

  add<T extends { stop: () => Promise<void> }>(one: T): T {
    this.#stops.push(() => one.stop());
    return one;
  }

  later(stop: () => Promise<void> | void): void {
    this.#stops.push(stop);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }
}

/** With which code a promise is rejected. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "nothing failed",
    (error: unknown) => (error as BackplaneError).code,
  );
}

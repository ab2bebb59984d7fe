import { Backoff, RateLimitedLog, sleep, type Runnable, type Context } from "@bunting/runtime";
import type { Redis } from "ioredis";
import type { HostAndPort } from "../address/parse-address.js";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";
import { readConnectionFiles, type ConnectionFiles, type RedisCredentials } from "./connection-files.js";
import { findMaster } from "./find-master.js";
import { newRedis, prepareRedis } from "./open-redis.js";
import { fromRedisError, neverAccepted } from "./redis-error.js";
import { ReplyGuard } from "./reply-guard.js";
import type { Script } from "./script.js";
import { withDeadline } from "./with-deadline.js";

export interface RedisConnectionOptions {
  readonly options: CheckedOptions;
  /** The name under which Redis lists this connection, for its operators. */
  readonly clientName: string;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Called with true once the connection can be used, with false when it has ended. */
  readonly onChange?: (isUp: boolean) => void;
}

export type Argument = string | number | Buffer;

/** A hundred replicas that retry several times a second are nothing to Redis, and use it soon after it is back. */
const backoff = { firstMs: 100, capMs: 2_000 };

/** Bytes of the largest replies beside documents: lists of topics, and announcements. */
const maxListBytes = 10 * 1024 * 1024;

/** The most log lines of a kind: Redis may come and go many times a minute. */
const linesPerMinute = 4;

/** Errors that do not end the connection, and are logged. */
const refusals = ["REDIS_DENIED", "REDIS_FULL", "REDIS_NOT_READY", "REDIS_CLUSTERED", "REDIS_FAILED"];

/** Errors that end the connection, because another one may lead to a Redis that works. */
const endingCodes = ["REDIS_TIMEOUT", "REDIS_READ_ONLY"];

/**
 * A connection to Redis that reconnects with backoff, and reads its files again each time. Without a connection
 * commands fail at once instead of waiting, and no command is sent twice.
 */
export class RedisConnection implements Runnable {
  readonly name = "redis";
  readonly #options: RedisConnectionOptions;
  readonly #log: RateLimitedLog;
  #redis: Redis | undefined;
  #attempts = 0;
  /** Passwords, which Redis may repeat in its errors and which must not reach a log. */
  #secrets: readonly string[] = [];
  #reason = new BackplaneError("REDIS_AWAY", "there has been no connection to Redis yet");

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
  }

  get isUp(): boolean {
    return this.#redis !== undefined;
  }

  /** The error because of which there is no connection; undefined while there is one. */
  get reason(): BackplaneError | undefined {
    return this.isUp ? undefined : this.#reason;
  }

  async run(signal: AbortSignal): Promise<void> {
    const waits = new Backoff(backoff);
    const { clientName, context } = this.#options;
    let lastLogged = "";
    while (!signal.aborted) {
      let upMs = Infinity;
      try {
        await this.#connectOnce(signal, () => {
          upMs = context.clock.monotonicMs();
          if (lastLogged !== "")
            this.#log.info("back", { connection: clientName }, "Redis is back", linesPerMinute);
          lastLogged = "";
        });
      } catch (error) {
        this.#reason = this.#failure(error);
        const { code, message } = this.#reason;
        const fields = { connection: clientName, code, reason: message };
        // Attempts go on for as long as it takes; each new reason is logged once.
        if (code !== lastLogged)
          this.#log.warn("away", fields, "Redis can't be used; attempts go on", linesPerMinute);
        lastLogged = code;
      }
      // A server that accepts connections and ends them at once must not reset the backoff.
      if (context.clock.monotonicMs() - upMs >= backoff.capMs) waits.reset();
      await sleep(waits.next(), signal, context.clock);
    }
  }

  /** Sends a command. Rejects with a BackplaneError. Texts are answered as Buffers. */
  async call(command: string, args: readonly Argument[], timeoutMs?: number): Promise<unknown> {
    const redis = this.#redis;
    if (redis === undefined) throw new BackplaneError(this.#reason.code, this.#reason.message);
    try {
      return await this.#send(redis, command, args, timeoutMs);
    } catch (error) {
      const failure = this.#failure(error);
      if (endingCodes.includes(failure.code)) this.#lose(redis, failure);
      throw failure;
    }
  }

  /**
   * Runs a script atomically; sends its text if Redis does not know it. An answer that is not one of the script ends the
   * connection, because those that follow would be as wrong.
   */
  async evaluate<Answer>(
    script: Script<Answer>,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<Answer> {
    const redis = this.#redis;
    try {
      const answer = await this.#evaluate(script, keys, args);
      return this.#understood(redis, () => script.read(answer));
    } catch (error) {
      const { code, message } = fromRedisError(error);
      const fields = { connection: this.#options.clientName, code, reason: message, keys: keys.slice(0, 3) };
      // Callers go on without the answer and do not log.
      if (refusals.includes(code)) this.#log.warn(code, fields, "Redis refuses what replicas need of it");
      throw error;
    }
  }

  #understood<Answer>(redis: Redis | undefined, read: () => Answer): Answer {
    try {
      return read();
    } catch (error) {
      if (redis !== undefined) this.#lose(redis, this.#failure(error));
      throw error;
    }
  }

  async #evaluate(
    script: Script<unknown>,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<unknown> {
    const parameters = [String(keys.length), ...keys, ...args];
    try {
      return await this.call("EVALSHA", [script.sha, ...parameters]);
    } catch (error) {
      if (!(error instanceof BackplaneError) || !error.message.includes("NOSCRIPT")) throw error;
      return this.call("EVAL", [script.text, ...parameters]);
    }
  }

  /** Opens one connection and waits for its end, which is an error unless the signal aborted. */
  async #connectOnce(signal: AbortSignal, onUp: () => void): Promise<void> {
    const { options, clientName, onChange, context } = this.#options;
    const files = await readConnectionFiles(options);
    this.#secrets = [files.redis.password, files.sentinel.password].filter((one) => one !== undefined);
    const host = await this.#findHost(files, signal);
    const redis = newRedis({
      ...host,
      tls: files.tls,
      name: clientName,
      connectTimeoutMs: options.connectTimeoutMs,
    });
    const guard = new ReplyGuard(options.maxDocumentBytes + maxListBytes);
    guard.watch(redis);
    // The error of the socket says more than the error of a command.
    let lastError: Error | undefined;
    redis.on("error", (error: Error) => (lastError = error));
    const ended = new Promise<void>((resolve) => redis.once("end", resolve));
    const stop = (): void => redis.disconnect();
    const isStopping = (): boolean => signal.aborted;
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (isStopping()) return;
      const { connectTimeoutMs } = options;
      const remedy = `; ${neverAccepted(options.address.isTls)}`;
      const late = (): Error => timedOut("accept a connection", connectTimeoutMs, remedy);
      await withDeadline(this.#open(redis, files.redis), connectTimeoutMs, context.clock, late);
      guard.opened();
      this.#redis = redis;
      onUp();
      onChange?.(true);
      await ended;
      // A connection that was given up here has its reason already.
      if (!isStopping()) throw this.#redis === redis ? new Error("Redis closed it") : this.#reason;
    } catch (error) {
      if (!isStopping()) throw error instanceof BackplaneError || lastError === undefined ? error : lastError;
    } finally {
      signal.removeEventListener("abort", stop);
      redis.disconnect();
      this.#lose(redis, new BackplaneError("REDIS_AWAY", "the connection to Redis has ended"));
      await ended;
    }
  }

  async #findHost(files: ConnectionFiles, signal: AbortSignal): Promise<HostAndPort> {
    const { options, context } = this.#options;
    const { hosts, masterName } = options.address;
    const [only] = hosts;
    if (masterName === undefined && only !== undefined) return only;
    return findMaster({ options, files, clock: context.clock, attempt: this.#attempts++ }, signal);
  }

  async #open(redis: Redis, credentials: RedisCredentials): Promise<void> {
    const { address } = this.#options.options;
    await redis.connect();
    const step = (command: string, args: readonly string[]): Promise<unknown> =>
      redis.callBuffer(command, ...args);
    await prepareRedis(step, credentials, address.database);
  }

  #send(redis: Redis, command: string, args: readonly Argument[], timeoutMs?: number): Promise<unknown> {
    const { options, context } = this.#options;
    const allowedMs = timeoutMs ?? options.commandTimeoutMs;
    const late = (): Error => timedOut("answer", allowedMs);
    return withDeadline(redis.callBuffer(command, ...args), allowedMs, context.clock, late);
  }

  /** The error, safe to log. */
  #failure(error: unknown): BackplaneError {
    const failure = fromRedisError(error);
    const message = this.#secrets.reduce((text, secret) => text.replaceAll(secret, "***"), failure.message);
    return message === failure.message ? failure : new BackplaneError(failure.code, message);
  }

  #lose(redis: Redis, reason: BackplaneError): void {
    if (this.#redis !== redis) return;
    this.#redis = undefined;
    this.#reason = reason;
    redis.disconnect();
    this.#options.onChange?.(false);
  }
}

function timedOut(what: string, timeoutMs: number, remedy = ""): BackplaneError {
  return new BackplaneError("REDIS_TIMEOUT", `Redis did not ${what} within ${timeoutMs} ms${remedy}`);
}

import { sleep, startSleep, withTimeLimit, type Clock, type Logger, type Runnable } from "@bunting/runtime";
import { IdentityError } from "../identity-error.js";
import type { KeySource } from "./key-source.js";
import { readSigningKeys, type SigningKey } from "./signing-keys.js";

export interface KeySetOptions {
  readonly source: KeySource;
  /** The accepted issuers; if none are given, the one that the source names. */
  readonly issuers: readonly string[];
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly onRead?: (result: "read" | "failed") => void;
}

/** The shortest time between two reads, however many tokens name unknown keys. */
const minIntervalMs = 5_000;
/** TTL of the keys: the next read finds out which keys are no longer published. */
const refreshMs = 300_000;
/** Time for which a key is accepted after it is no longer published: API servers do not all learn of a new key at once. */
const retainMs = 600_000;
const answerWithinMs = 10_000;
/** The most callers that wait for a read because their token names an unknown key. */
const maxWaiting = 1_000;

interface KnownKey {
  readonly key: SigningKey;
  /** Time of the last read that contained the key, in ms of the monotonic clock. */
  seenMs: number;
}

interface Waiter {
  readonly kid: string;
  readonly resolve: (key: SigningKey) => void;
  readonly reject: (error: IdentityError) => void;
}

/**
 * A cache of the keys that sign tokens. The keys are read at the start, every five minutes, and when a token names an unknown
 * key, but at most every five seconds. While they can't be read, the known keys stay in use (stale-if-error).
 */
export class KeySet implements Runnable {
  readonly name = "token keys";
  readonly #options: KeySetOptions;
  readonly #known = new Map<string, KnownKey>();
  #issuers: readonly string[];
  readonly #waiting: Waiter[] = [];
  #wake: (() => void) | undefined;
  #hasFailed = false;
  /** Earliest time of the next read, in ms of the monotonic clock; in the past during a read. */
  #nextReadMs = 0;

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#issuers = options.issuers;
  }

  /** Issuers whose tokens are accepted; empty until that is known. */
  get issuers(): readonly string[] {
    return this.#issuers;
  }

  /** True if there is a key with this id, and with this digest if one is given. */
  has(kid: string, digest?: string): boolean {
    const known = this.#known.get(kid);
    return known !== undefined && (digest === undefined || known.key.digest === digest);
  }

  /** A key by its id. Throws, or rejects with, an IdentityError if there is none, or that can't be found out. */
  find(kid: string): SigningKey | Promise<SigningKey> {
    const known = this.#known.get(kid);
    if (known !== undefined) return known.key;
    if (this.#waiting.length >= maxWaiting) throw this.#tooManyWaiting();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ kid, resolve, reject });
      this.#wake?.();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const isRead = await this.#read(signal);
      this.#nextReadMs = clock.monotonicMs() + minIntervalMs;
      this.#settle(isRead);
      await sleep(minIntervalMs, signal, clock);
      // Until the first read has succeeded, callers are waiting, or soon will be.
      if (this.#waiting.length > 0 || this.#known.size === 0) continue;
      const idle = startSleep(isRead ? refreshMs - minIntervalMs : refreshMs / 10, signal, clock);
      this.#wake = idle.wake;
      await idle.ended;
      this.#wake = undefined;
    }
    // No read will answer who asks from now on.
    this.#wake = () => this.#settle(false);
    this.#wake();
  }

  async #read(signal: AbortSignal): Promise<boolean> {
    const { source, issuers, clock, onRead } = this.#options;
    const late = (): Error => new Error("no answer in time");
    try {
      const read = await withTimeLimit(signal, answerWithinMs, (limit) => source.read(limit), {
        clock,
        late,
      });
      const { issuer, keySet } = read;
      const keys = await readSigningKeys(keySet);
      if (issuers.length === 0) {
        if (issuer === undefined) throw new Error("the issuer is not known");
        this.#issuers = [issuer];
      }
      this.#take(keys);
      onRead?.("read");
      return true;
    } catch (error) {
      if (!signal.aborted) this.#failed(error as Error);
      return false;
    }
  }

  #take(keys: readonly SigningKey[]): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    const before = this.#digests();
    const taken = new Set<string>();
    for (const key of keys) {
      // The first key wins where several have the same id.
      if (taken.has(key.kid)) continue;
      taken.add(key.kid);
      const known = this.#known.get(key.kid);
      if (known?.key.digest === key.digest) known.seenMs = nowMs;
      else this.#known.set(key.kid, { key, seenMs: nowMs });
    }
    for (const [kid, { seenMs }] of this.#known) if (nowMs - seenMs > retainMs) this.#known.delete(kid);
    if (this.#hasFailed || this.#digests() !== before)
      logger.info({ keys: this.#known.size, issuers: this.#issuers }, "read the keys that sign tokens");
    this.#hasFailed = false;
  }

  #digests(): string {
    return Array.from(this.#known.values(), ({ key }) => key.kid + key.digest).join();
  }

  #failed(error: Error): void {
    const { source, logger, onRead } = this.#options;
    onRead?.("failed");
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const rest =
      this.#known.size === 0
        ? "no token can be verified until they are"
        : "tokens signed with keys that are known are still accepted";
    logger.warn(
      { from: source.name, error: error.message },
      `the keys that sign tokens can't be read; ${rest}`,
    );
  }

  /** Answers those who wait: the keys were read just now, or that has failed. */
  #settle(isRead: boolean): void {
    for (const { kid, resolve, reject } of this.#waiting.splice(0)) {
      const known = this.#known.get(kid);
      if (known !== undefined) resolve(known.key);
      else
        reject(
          isRead
            ? unknownKey(`; they are read again in ${minIntervalMs / 1_000} s at the earliest`)
            : unavailable(),
        );
    }
  }

  /** So many wait that no more may. Whether this key is published will be known after the next read. */
  #tooManyWaiting(): IdentityError {
    const seconds = Math.ceil((this.#nextReadMs - this.#options.clock.monotonicMs()) / 1_000);
    const next = seconds > 0 ? `are read again in ${seconds} s at the earliest` : "are being read";
    return new IdentityError(
      "IDENTITY_UNAVAILABLE",
      `the token is signed with a key that is not known, as those of ${maxWaiting} other callers are; the keys of the cluster ${next}: try again then`,
    );
  }
}

/** @param next completes the sentence with when the keys are read again */
export function unknownKey(next = ""): IdentityError {
  return new IdentityError(
    "TOKEN_KEY_UNKNOWN",
    `the token is signed with an unknown key, which is none of those that this cluster publishes${next}`,
  );
}

function unavailable(): IdentityError {
  return new IdentityError(
    "IDENTITY_UNAVAILABLE",
    "the token can't be verified for now, because the keys of the cluster can't be read",
  );
}

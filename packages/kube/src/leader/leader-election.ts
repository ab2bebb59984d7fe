import { isAborted, sleep, withTimeLimit, type Runnable, type Context } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { microTime } from "../objects/micro-time.js";
import type { ObjectScope, RestClient } from "../rest/rest-client.js";
import { unlessNotFound } from "../rest/unless-not-found.js";
import { leaseType, type LeaseObject, type LeaseSpec } from "./lease-record.js";

/** A Lease, and who wants to hold it. */
export interface LeaseClaim {
  readonly namespace: string;
  /** Name of the Lease object. */
  readonly name: string;
  /** Names this process, and no other one: the Pod's name and something random. */
  readonly identity: string;
  /** True if a holder has ended for certain, and could not release the lease. Asked when it is first seen, and while it does not renew. Default: never. */
  readonly isGone?: (holder: string, signal: AbortSignal) => Promise<boolean>;
}

export interface LeaseTiming {
  /** Lease duration: the time without a renewal after which another process takes over. Default 15 s. */
  readonly leaseMs?: number;
  /** Time without a renewal after which the leader steps down; less than `leaseMs`. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** The time between two attempts to take the lease, and after one to renew it that failed. Default 2 s. */
  readonly retryMs?: number;
  /** The time after which a leader renews the lease, less than `renewDeadlineMs`. Default: `retryMs`. */
  readonly renewMs?: number;
}

export interface LeaderElectionOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  readonly claim: LeaseClaim;
  /**
   * The leader's work. It must end soon after its signal aborts, because another process leads then. If it ends by itself,
   * the lease is released and acquired again.
   */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly context: Pick<Context, "clock" | "logger">;
  readonly timing?: LeaseTiming;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/** A Lease as it was read, and the time of the monotonic clock since which it has not changed. */
interface Observed {
  readonly resourceVersion: string;
  readonly sinceMs: number;
}

/**
 * Elects one leader among the processes that share a Lease, as client-go's leader election does, with its defaults.
 *
 * Invariants:
 * - Times of other processes are never compared with ours. A lease has expired when it has not changed for its duration on
 *   our monotonic clock.
 * - Writes carry the resourceVersion that was read: of two processes that acquire an expired lease, one gets a CONFLICT.
 * - The leader counts its lease from the begin of the renewal, and steps down after `renewDeadlineMs`, before the lease
 *   expires for others. A process that was stopped for longer steps down first of all, because its timer is due.
 * - The lease is released only when `lead` has ended, and taken from another process before it has expired only if that has ended for certain.
 */
export class LeaderElection implements Runnable {
  readonly name = "leader election";
  readonly #options: LeaderElectionOptions;
  readonly #scope: ObjectScope;
  readonly #leaseMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryMs: number;
  readonly #renewMs: number;
  #observed: Observed | undefined;
  /** While this process leads: the Lease as it was written last. */
  #held: LeaseObject | undefined;
  /** While this process leads: the begin of the last successful renewal. */
  #renewedMs: number | undefined;
  /** The holder about which `isGone` was asked last. */
  #asked = "";
  /** The last known leader. */
  #leader = "";

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#scope = { type: leaseType, namespace: options.claim.namespace, name: options.claim.name };
    this.#leaseMs = options.timing?.leaseMs ?? 15_000;
    this.#renewDeadlineMs = options.timing?.renewDeadlineMs ?? 10_000;
    this.#retryMs = options.timing?.retryMs ?? 2_000;
    this.#renewMs = options.timing?.renewMs ?? this.#retryMs;
    const longestMs = Math.max(this.#retryMs, this.#renewMs);
    if (this.#renewDeadlineMs >= this.#leaseMs || longestMs >= this.#renewDeadlineMs)
      throw new RangeError("a lease is longer than the renew deadline, and that is longer than the periods");
  }

  /** True while this process leads. It is false as soon as its time is over, even if no timer has fired yet. */
  get isLeading(): boolean {
    return this.#renewedMs !== undefined && this.#leftMs(this.#renewedMs) > 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const renewedMs = await this.#try(signal);
      if (renewedMs !== undefined) await this.#lead(renewedMs, signal);
      // Without the random part, processes that were started together would ask at the same time for ever.
      const { random = Math.random, context } = this.#options;
      await sleep(this.#retryMs * (1 + 0.2 * random()), signal, context.clock);
    }
  }

  /** Leads until the signal aborts, the lease can't be renewed in time, or the work ends. */
  async #lead(renewedMs: number, signal: AbortSignal): Promise<void> {
    const { lead, claim, context } = this.#options;
    let lastMs = renewedMs;
    this.#renewedMs = lastMs;
    context.logger.info({ identity: claim.identity, lease: this.#scope.name }, "this process leads");
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const work = lead(abort.signal).finally(stop);
    const outcome = work.catch(() => undefined);
    let waitMs = this.#renewMs;
    while (!isAborted(abort.signal)) {
      await sleep(waitMs, abort.signal, context.clock);
      if (isAborted(abort.signal)) break;
      // A process that was stopped for a while asks nothing: its time is over.
      const again = this.isLeading ? await this.#try(abort.signal, this.#leftMs(lastMs)) : undefined;
      waitMs = again === undefined ? this.#retryMs : this.#renewMs;
      if (again !== undefined) this.#renewedMs = lastMs = again;
      else if (!this.isLeading || this.#leader !== claim.identity) {
        context.logger.warn(
          { leader: this.#leader },
          "this process leads no longer: its lease was not renewed in time",
        );
        stop();
      }
    }
    signal.removeEventListener("abort", stop);
    await outcome;
    const isStillOurs = this.isLeading;
    this.#renewedMs = undefined;
    this.#held = undefined;
    if (isStillOurs) await this.#release();
    await work;
  }

  /** Time left until the leader has to step down, after a renewal at this time. */
  #leftMs(renewedMs: number): number {
    return renewedMs + this.#renewDeadlineMs - this.#options.context.clock.monotonicMs();
  }

  /** Acquires or renews the lease. Resolves with the begin of that; undefined if it failed or another process leads. Never rejects. */
  async #try(signal: AbortSignal, withinMs = this.#renewDeadlineMs): Promise<number | undefined> {
    const { clock, logger } = this.#options.context;
    const startedMs = clock.monotonicMs();
    try {
      const isHeld = await withTimeLimit(signal, withinMs, (limit) => this.#acquire(limit), { clock });
      return isHeld ? startedMs : undefined;
    } catch (error) {
      // Another process was faster: it is found at the next attempt.
      const isRace = error instanceof KubeError && error.code === "CONFLICT";
      if (!isRace && !signal.aborted)
        logger.warn({ error, lease: this.#scope.name }, "the lease can't be read or written");
      return undefined;
    }
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    if (this.#held !== undefined && (await this.#renew(this.#held, signal))) return true;
    const { client, claim, context } = this.#options;
    const lease = await this.#read(signal);
    if (lease === undefined) {
      const { name, namespace } = claim;
      const scope = { type: leaseType, namespace };
      const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace } };
      this.#hold(await client.create(scope, { ...body, spec: this.#specOf(undefined) }, signal));
      return true;
    }
    this.#observe(lease);
    const { holderIdentity = "", leaseDurationSeconds = this.#leaseMs / 1_000 } = lease.spec ?? {};
    const unchangedMs = context.clock.monotonicMs() - (this.#observed?.sinceMs ?? Infinity);
    const isOthers = holderIdentity !== "" && holderIdentity !== claim.identity;
    const isLive = isOthers && unchangedMs < leaseDurationSeconds * 1_000;
    if (isLive && !(await this.#isGone(holderIdentity, unchangedMs, signal))) return false;
    this.#hold(await client.update(this.#scope, { ...lease, spec: this.#specOf(lease.spec) }, signal));
    return true;
  }

  async #isGone(holder: string, unchangedMs: number, signal: AbortSignal): Promise<boolean> {
    if (holder === this.#asked && unchangedMs < this.#renewDeadlineMs / 2) return false;
    this.#asked = holder;
    return (await this.#options.claim.isGone?.(holder, signal)) ?? false;
  }

  /** The leader renews what it wrote last, without reading it. False if somebody else has written since. */
  async #renew(held: LeaseObject, signal: AbortSignal): Promise<boolean> {
    try {
      const { client } = this.#options;
      this.#hold(await client.update(this.#scope, { ...held, spec: this.#specOf(held.spec) }, signal));
      return true;
    } catch (error) {
      if (error instanceof KubeError && (error.code === "CONFLICT" || error.code === "NOT_FOUND"))
        return false;
      throw error;
    }
  }

  #hold(lease: LeaseObject): void {
    this.#observe(lease);
    this.#held = lease;
  }

  #read(signal: AbortSignal): Promise<LeaseObject | undefined> {
    return unlessNotFound(this.#options.client.get(this.#scope, signal));
  }

  #observe({ metadata: { resourceVersion = "" }, spec }: LeaseObject): void {
    this.#leader = spec?.holderIdentity ?? "";
    if (this.#observed?.resourceVersion === resourceVersion) return;
    this.#observed = { resourceVersion, sinceMs: this.#options.context.clock.monotonicMs() };
  }

  #specOf(before: LeaseSpec | undefined): LeaseSpec {
    const { claim, context } = this.#options;
    const now = microTime(context.clock.now());
    const isOurs = before?.holderIdentity === claim.identity;
    const transitions = before?.leaseTransitions ?? 0;
    return {
      holderIdentity: claim.identity,
      leaseDurationSeconds: Math.ceil(this.#leaseMs / 1_000),
      acquireTime: isOurs ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: isOurs || before === undefined ? transitions : transitions + 1,
    };
  }

  /** Lets the next process lead at once. Whatever goes wrong, the lease lapses by itself. */
  async #release(): Promise<void> {
    const { client, claim, context } = this.#options;
    const abort = new AbortController();
    const cancel = context.clock.after(this.#retryMs, () => abort.abort());
    try {
      const lease = await this.#read(abort.signal);
      if (lease?.spec?.holderIdentity !== claim.identity) return;
      const now = microTime(context.clock.now());
      const nobodys = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
      const spec = { ...lease.spec, ...nobodys };
      await client.update(this.#scope, { ...lease, spec }, abort.signal);
      this.#leader = "";
      context.logger.info({ lease: this.#scope.name }, "the lease is released");
    } catch (error) {
      context.logger.warn(
        { error, lease: this.#scope.name },
        "the lease can't be released; it lapses by itself",
      );
    } finally {
      cancel();
    }
  }
}

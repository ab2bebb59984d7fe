import {
  allowed,
  IdentityError,
  identityName,
  type Decision,
  type Identity,
  type TopicName,
} from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import type { Call, TransportSession } from "@bunting/rpc";
import { forEachInSlices, SetMultimap, sleep, type Runnable } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import { anonymous, type Access, type Admission, type Admitted, type LostSubscriptions } from "./access.js";
import { bearerToken } from "./bearer-token.js";
import type { CheckedAccessOptions } from "./checked-access-options.js";
import { CallerIdentification, type Presented } from "./caller-identification.js";
import { Grants, type Grant } from "./grants.js";
import { refusalLog, type Refusal } from "./refusal-log.js";
import { WaitingDecisions } from "./waiting-decisions.js";

type EndReason = "expired" | "identity" | "permission";

/** Rechecks run in slices, because each may take a question to the API server. */
const slices = { perSlice: 256, concurrency: 64 };
/** Interval of the looks for tokens that have expired. */
const expiryMs = 1_000;

/**
 * Admits callers by their identity, and ends their streams when the identity or the permission for a topic ends. A token's expiry
 * ends them within a second, all else at the next recheck (`run`) or before the topic's next version (`lost`). A recheck without an
 * answer ends nothing.
 */
export class CheckedAccess implements Access, Runnable {
  readonly name = "access";
  readonly #options: CheckedAccessOptions;
  readonly #audit: (refusal: Refusal) => void;
  readonly #waiting: WaitingDecisions;
  /** Open streams. Identities of the same ServiceAccount with different tokens or Pods are different objects. */
  readonly #streams = new SetMultimap<Identity, Admitted>();
  readonly #identities = new Map<Admitted, Identity>();
  readonly #grants = new Grants();
  /** Why subscriptions were lost: an edit asks once for the topic, and once for its trials. */
  readonly #lost = new WeakMap<Admitted, ProxyError>();
  readonly #identification: CallerIdentification;

  constructor(options: CheckedAccessOptions) {
    const { clock, log } = options.context;
    this.#options = options;
    this.#identification = new CallerIdentification(options.authenticators);
    this.#audit = refusalLog(clock, log);
    this.#waiting = new WaitingDecisions(options.context);
  }

  /** Open subscriptions, by identity and topic. */
  get grants(): Iterable<Grant> {
    return this.#grants.all;
  }

  admit(call: Call): Admission | Promise<Admission> {
    const { session } = call.stream;
    try {
      const identity = this.#identification.identify(
        {
          bearerToken: bearerToken(call.header("authorization")),
          address: session.remoteAddress,
          certificate: session.peerCertificate,
          connection: session,
        },
        session,
      );
      if (!(identity instanceof Promise)) return this.#admitted(identity, call);
      this.#waiting.add(session, identity);
      return identity
        .then((settled) => this.#admitted(settled, call))
        .catch((error: unknown) => {
          throw this.#refusalOf(error, session.remoteAddress);
        });
    } catch (error) {
      throw this.#refusalOf(error, session.remoteAddress);
    }
  }

  /**
   * The identity of a request's sender. Unlike `admit`, it refuses anonymous callers even if the settings allow them.
   *
   * @throws ProxyError UNAUTHENTICATED or ACCESS_UNDECIDED
   */
  async identify({ authorization, ...peer }: Presented): Promise<Identity> {
    try {
      const caller = { ...peer, bearerToken: bearerToken(authorization) };
      const identity = await this.#identification.identify(caller);
      if (identity === undefined) throw this.#missing();
      if (this.#hasExpired(identity)) throw expired();
      return identity;
    } catch (error) {
      throw this.#refusalOf(error, peer.address);
    }
  }

  authorize(
    { identity }: Admission,
    topic: TopicKey,
    connection: TransportSession,
  ): ProxyError | undefined | Promise<ProxyError | undefined> {
    if (identity === undefined) return undefined;
    if (this.#hasExpired(identity)) return expired();
    const decision = this.#decide(identity, topic);
    if (!(decision instanceof Promise)) return this.#refusedTopic(identity, topic, decision);
    try {
      this.#waiting.add(connection, decision);
    } catch (error) {
      if (error instanceof ProxyError) return error;
      throw error;
    }
    return decision.then(
      (settled) => this.#refusedTopic(identity, topic, settled),
      () => this.#refusedTopic(identity, topic, undecided),
    );
  }

  watchAdmission({ identity }: Admission, stream: Admitted): void {
    if (identity === undefined) return;
    if (this.#streams.get(identity).size === 0) this.#options.context.metrics.watchedIdentities(1);
    this.#streams.add(identity, stream);
    this.#identities.set(stream, identity);
  }

  watchTopic({ identity }: Admission, topic: TopicKey, subscriber: Admitted): void {
    if (identity !== undefined) this.#grants.add(identity, topic, subscriber);
  }

  lost(topic: TopicKey): readonly LostSubscriptions[] {
    const { authorizer, context } = this.#options;
    const lost: LostSubscriptions[] = [];
    if (authorizer === undefined) return lost;
    for (const { identity, subscribers } of this.#grants.of(topic)) {
      const decision = authorizer.holds(identity, topicName(topic));
      if (decision.kind === "allowed") continue;
      const untold = [...subscribers].filter((each) => !this.#lost.has(each));
      const [told] = untold.length > 0 ? [] : [...subscribers].map((each) => this.#lost.get(each));
      const error = told ?? this.#refusedTopic(identity, topic, decision);
      if (error === undefined) continue;
      for (const each of untold) this.#lost.set(each, error);
      lost.push({ error, subscribers: new Set(subscribers) });
      if (untold.length > 0) context.metrics.accessEnded("permission", untold.length);
    }
    return lost;
  }

  forget(stream: Admitted): void {
    const identity = this.#identities.get(stream);
    if (identity === undefined) return;
    this.#identities.delete(stream);
    this.#streams.delete(identity, stream);
    if (this.#streams.get(identity).size === 0) this.#options.context.metrics.watchedIdentities(-1);
  }

  forgetTopic(subscriber: Admitted): void {
    this.#grants.delete(subscriber);
  }

  /** Rechecks the identities and permissions of open streams until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { authorizer, recheckMs = 20_000 } = this.#options;
    // Loops of their own, because a slow recheck of identities must not delay that of permissions.
    await Promise.all([
      this.#repeat(expiryMs, signal, () => this.#endExpired()),
      this.#repeat(recheckMs, signal, () =>
        forEachInSlices(this.#streams.keys(), (identity) => this.#recheckIdentity(identity), slices),
      ),
      authorizer &&
        this.#repeat(recheckMs, signal, () =>
          forEachInSlices(this.#grants.all, (grant) => this.#recheckGrant(grant), slices),
        ),
    ]);
  }

  async #repeat(everyMs: number, signal: AbortSignal, act: () => Promise<void> | undefined): Promise<void> {
    for (;;) {
      await sleep(everyMs, signal, this.#options.context.clock);
      if (signal.aborted) return;
      await act();
    }
  }

  #endExpired(): undefined {
    for (const identity of this.#streams.keys()) {
      if (!this.#hasExpired(identity)) continue;
      const streams = new Set(this.#streams.get(identity));
      // Streams that take a while to end would be ended, and counted, once more.
      for (const stream of streams) this.forget(stream);
      this.#end(streams, expired(), "expired");
    }
  }

  #admitted(identity: Identity | undefined, { stream }: Call): Admission {
    const { allowsAnonymous, context } = this.#options;
    if (identity === undefined && !allowsAnonymous) throw this.#missing();
    stream.admit();
    context.metrics.admitted(identity?.kind ?? "anonymous");
    return identity === undefined ? anonymous : { identity };
  }

  #missing(): IdentityError {
    return new IdentityError(
      "CREDENTIALS_MISSING",
      `this proxy serves known callers only; present ${this.#options.wanted}`,
    );
  }

  #refusalOf(error: unknown, peer: string): unknown {
    if (!(error instanceof IdentityError)) return error;
    const { code, message, subject } = error;
    const reason = code.toLowerCase();
    this.#options.context.metrics.identityRefused(reason);
    const fields = subject === undefined ? { peer } : { peer, identity: subject };
    this.#audit({ reason, who: subject ?? peer, fields, message: `refused a caller: ${message}` });
    return errorOf(error);
  }

  #decide(identity: Identity, topic: TopicKey, isOpen = false): Decision | Promise<Decision> {
    const { authorizer } = this.#options;
    if (authorizer === undefined) return allowed;
    const name = topicName(topic);
    if (isOpen && authorizer.recheck !== undefined) return authorizer.recheck(identity, name);
    return authorizer.check(identity, name);
  }

  #refusedTopic(identity: Identity, topic: TopicKey, decision: Decision): ProxyError | undefined {
    if (decision.kind === "allowed") return this.#hasExpired(identity) ? expired() : undefined;
    const name = identityName(identity);
    const reason = decision.kind;
    const message =
      reason === "denied"
        ? `${name} may not read the FeatureFlag ${topic}, because ${decision.reason}`
        : `whether ${name} may read the FeatureFlag ${topic} can't be found out for now, because ${decision.reason}`;
    this.#options.context.metrics.topicRefused(reason);
    this.#audit({
      reason,
      who: `${name} ${topic}`,
      fields: { identity: name, topic },
      message: `refused a subscription: ${message}`,
    });
    return new ProxyError(reason === "denied" ? "PERMISSION_DENIED" : "ACCESS_UNDECIDED", message);
  }

  async #recheckIdentity(identity: Identity): Promise<void> {
    const error = await this.#attempt(() => this.#identification.wayOf(identity)?.recheck?.(identity));
    // IDENTITY_UNAVAILABLE means that the recheck has no answer: the streams stay open.
    if (error === undefined || error.code === "IDENTITY_UNAVAILABLE") return;
    this.#end(this.#streams.get(identity), errorOf(error), "identity");
  }

  async #recheckGrant({ identity, topic, subscribers }: Grant): Promise<void> {
    const decision = await this.#attempt(() => this.#decide(identity, topic, true));
    if (decision?.kind !== "denied") return;
    const error = this.#refusedTopic(identity, topic, decision);
    if (error !== undefined) this.#end(subscribers, error, "permission");
  }

  /** Logs an unexpected error, so that it does not end the rechecks of other streams. */
  async #attempt<T>(check: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await check();
    } catch (error) {
      const { log } = this.#options.context;
      log.error("recheck-failed", { error }, "a recheck of an open stream failed unexpectedly");
      return undefined;
    }
  }

  #end(all: ReadonlySet<Admitted>, error: ProxyError, why: EndReason): void {
    const end = (each: Admitted): void => {
      this.#options.context.metrics.accessEnded(why);
      each.refuse(error);
    };
    void forEachInSlices([...all], end, slices);
  }

  #hasExpired({ expiresAtMs = Infinity }: Identity): boolean {
    return expiresAtMs <= this.#options.context.clock.now();
  }
}

const undecided: Decision = { kind: "unavailable", reason: "the API server did not answer" };

/**
 * The parts of `namespace/name`. A file (`file:PATH`, for tests only) has no namespace. A namespace of another cluster is called
 * `prefix/namespace`, so that it is not taken for one of this cluster.
 */
function topicName(topic: TopicKey): TopicName {
  const slash = topic.startsWith("file:") ? -1 : topic.lastIndexOf("/");
  return { namespace: topic.slice(0, Math.max(0, slash)), name: topic.slice(slash + 1) };
}

function expired(): ProxyError {
  return new ProxyError(
    "UNAUTHENTICATED",
    "the credential of this stream has expired; connect again with a new one",
  );
}

function errorOf(error: IdentityError): ProxyError {
  const code = error.code === "IDENTITY_UNAVAILABLE" ? "ACCESS_UNDECIDED" : "UNAUTHENTICATED";
  return new ProxyError(code, error.message, { cause: error });
}

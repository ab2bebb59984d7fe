import type { Clock } from "@bunting/runtime";
import type { KubeError } from "../kube-error.js";

/** A request that RBAC may refuse; the same object each time. */
export interface RefusableRequest {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** True once the request's scope has been in sync. */
  readonly hasBeenSynced: boolean;
}

/** Time between two requests that RBAC will probably refuse, of whatever scopes. */
const everyMs = 250;
/** Refusals in a row in a namespace that make the next refusal there probable. */
const refusalsToExpect = 3;
/** The most namespaces whose refusals are remembered: peers can name any number. */
const maxNamespaces = 10_000;

/**
 * What RBAC has refused, by request and by namespace. Requests that it will probably refuse again share a rate of four a
 * second, until one of them is allowed: then RBAC has changed, and a new generation begins, without refusals.
 */
export class RbacRefusals {
  readonly #clock: Clock;
  #generation = 1;
  /** The generation in which each request was refused. */
  readonly #refusedIn = new WeakMap<RefusableRequest, number>();
  readonly #byNamespace = new Map<string | undefined, { count: number; error: KubeError }>();
  #notBeforeMs = 0;
  #isFirstsTurn = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The refusal because of which requests of the namespace wait; undefined without one. */
  expectedIn(namespace: string | undefined): KubeError | undefined {
    const refusals = this.#byNamespace.get(namespace);
    return refusals !== undefined && refusals.count >= refusalsToExpect ? refusals.error : undefined;
  }

  /** 0 without a refusal that concerns the request; else from 1 to 3: first those that were once in sync, then new ones. */
  riskOf(request: RefusableRequest): number {
    const isRefused = this.#isRefused(request);
    if (!isRefused && this.expectedIn(request.namespace) === undefined) return 0;
    if (request.hasBeenSynced) return 1;
    return isRefused ? 3 : 2;
  }

  /** Time until the next risky request may be sent; not above 0 if it may now. */
  get waitMs(): number {
    return this.#notBeforeMs - this.#clock.monotonicMs();
  }

  /** To be called with each risky request. Returns true every other time: the first that came goes then, so that none starves. */
  takeTurn(): boolean {
    this.#notBeforeMs = this.#clock.monotonicMs() + everyMs;
    this.#isFirstsTurn = !this.#isFirstsTurn;
    return this.#isFirstsTurn;
  }

  allowed(request: RefusableRequest): void {
    this.#byNamespace.delete(request.namespace);
    if (!this.#isRefused(request)) return;
    // RBAC has changed, maybe for all other requests too.
    this.#generation++;
    this.#byNamespace.clear();
  }

  refused(request: RefusableRequest, error: KubeError): void {
    const { namespace } = request;
    this.#refusedIn.set(request, this.#generation);
    if (this.#byNamespace.size >= maxNamespaces) this.#byNamespace.clear();
    this.#byNamespace.set(namespace, { count: (this.#byNamespace.get(namespace)?.count ?? 0) + 1, error });
  }

  #isRefused(request: RefusableRequest): boolean {
    return this.#refusedIn.get(request) === this.#generation;
  }
}

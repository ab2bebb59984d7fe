import type { Authenticator, Caller, Identity } from "@bunting/identity";
import type { TransportSession } from "@bunting/rpc";

/** The credentials of a request. */
export interface Presented extends Omit<Caller, "bearerToken"> {
  readonly authorization: string | undefined;
}

/** Finds out who calls, and remembers by which authenticator: nobody else can recheck the identity. */
export class CallerIdentification {
  readonly #authenticators: readonly Authenticator[];
  readonly #ways = new WeakMap<Identity, Authenticator>();

  /** @param authenticators in order: the first that finds credentials decides */
  constructor(authenticators: readonly Authenticator[]) {
    this.#authenticators = authenticators;
  }

  /** The authenticator that established the identity, and rechecks it. */
  wayOf(identity: Identity): Authenticator | undefined {
    return this.#ways.get(identity);
  }

  /** Undefined for a caller that presents nothing, whom only `CheckedAccess` may let in. */
  identify(
    caller: Caller,
    session?: Pick<TransportSession, "spend">,
    from = 0,
  ): Identity | undefined | Promise<Identity | undefined> {
    for (let index = from; index < this.#authenticators.length; index++) {
      const way = this.#authenticators[index];
      const identity = way?.identify(caller);
      if (way === undefined || identity === undefined) continue;
      if (!(identity instanceof Promise)) {
        this.#ways.set(identity, way);
        return identity;
      }
      // An identity that is not cached costs about as much work as a request.
      session?.spend(1);
      return identity.then((settled) => {
        if (settled === undefined) return this.identify(caller, session, index + 1);
        this.#ways.set(settled, way);
        return settled;
      });
    }
    return undefined;
  }
}

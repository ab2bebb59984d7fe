import type { IdentityError } from "./identity-error.js";
import type { Identity } from "./identity.js";

/** What a call presents to say who it is. */
export interface Caller {
  /** The token of `authorization: Bearer`. It is neither kept nor logged. */
  readonly bearerToken: string | undefined;
  /** IP address of the peer, or "unix" on a unix socket. */
  readonly address: string;
  /** The certificate with which the connection's client proved its name, if it did: verified by whoever accepted the connection. */
  readonly certificate?: CallerCertificate | undefined;
  /** Stands for the connection: the same object for all its calls. */
  readonly connection: object;
}

/** What an identity can be concluded from in a client's certificate. */
export interface CallerCertificate {
  readonly uriSans: readonly string[];
  /** When it expires, in ms since the epoch. */
  readonly validToMs: number;
}

/** One way to find out who calls. */
export interface Authenticator {
  /**
   * The identity of a caller; undefined if it presents nothing that this way of identification reads. A promise only where something has to
   * be computed or asked for: what is cached is returned at once.
   *
   * Throws, or rejects with, an IdentityError if the caller presents something that proves nothing.
   */
  identify(caller: Caller): Identity | undefined | Promise<Identity | undefined>;
  /**
   * Whether an identity found earlier still holds, for streams that stay open; called for each about twice a minute. The same error as from
   * `identify` if it does not. Absent: an identity holds until it expires.
   */
  recheck?(identity: Identity): IdentityError | undefined | Promise<IdentityError | undefined>;
}

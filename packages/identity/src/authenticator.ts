import type { IdentityError } from "./identity-error.js";
import type { Identity } from "./identity.js";

/** The credentials of a call. */
export interface Caller {
  /** The token of `authorization: Bearer`. It is neither kept nor logged. */
  readonly bearerToken: string | undefined;
  /** IP address of the peer, or "unix" on a unix socket. */
  readonly address: string;
  /** The client certificate, verified when the connection was accepted; absent without one. */
  readonly certificate?: CallerCertificate | undefined;
  /** Identifies the connection: the same object for all its calls. */
  readonly connection: object;
}

/** The parts of a client certificate that identify the client. */
export interface CallerCertificate {
  readonly uriSans: readonly string[];
  /** Expiry, in ms since the epoch. */
  readonly validToMs: number;
}

/** One way to identify callers. */
export interface Authenticator {
  /**
   * The identity of a caller; undefined if the caller presents no credential of this kind. Returns a promise only where
   * the API server has to be asked or a signature verified; a cached identity is returned at once.
   *
   * Throws, or rejects with, an IdentityError if the credential is not valid.
   */
  identify(caller: Caller): Identity | undefined | Promise<Identity | undefined>;
  /**
   * Checks the identity of an open stream again, about twice a minute. Returns the error that `identify` would throw if the
   * identity is no longer valid. Absent: identities are valid until they expire.
   */
  recheck?(identity: Identity): IdentityError | undefined | Promise<IdentityError | undefined>;
}

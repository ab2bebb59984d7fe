import { BackplaneError } from "./backplane-error.js";
import { parseAddress, type BackplaneAddress } from "./address/parse-address.js";

/** The options of a replica's use of Redis; a program fills them from its command line. */
export interface BackplaneOptions {
  /** `redis://HOST:PORT/DATABASE`, `rediss://…`, or `redis+sentinel://HOST:PORT,HOST:PORT/MASTER-NAME/DATABASE`. */
  readonly address: string;
  /** Prefix of all keys, so that several deployments can share a database. Default `bunting:`. */
  readonly keyPrefix?: string;
  /** A file with the name of the user; without it, the default user. It is read again for each connection, as are the other files. */
  readonly userFile?: string;
  /** A file with the password; without it, none is presented. */
  readonly passwordFile?: string;
  /** As userFile, for Sentinels: they have users of their own. */
  readonly sentinelUserFile?: string;
  /** As passwordFile, for Sentinels. */
  readonly sentinelPasswordFile?: string;
  /** A file with the certificates, in PEM, of the authorities that issue Redis its certificate; default: Node's own. */
  readonly tlsCaFile?: string;
  /** A file with the certificate of this client, in PEM. */
  readonly tlsCertFile?: string;
  /** A file with the private key of that certificate, in PEM. */
  readonly tlsKeyFile?: string;
  /** The name that the certificate of Redis must have, if it is not the host of the address. */
  readonly tlsServerName?: string;
  /** Timeout until Redis has accepted the connection and the user, in ms. Default 3,000. */
  readonly connectTimeoutMs?: number;
  /** Timeout of a command, in ms; it ends the connection. Default 1,000. */
  readonly commandTimeoutMs?: number;
  /** Largest document, in bytes before compression. Default 16 MiB. */
  readonly maxDocumentBytes?: number;
  /** TTL of a lease without a renewal, in ms: the cost of a crash of the owner. Default 5,000. */
  readonly leaseMs?: number;
  /** TTL of a replica without a heartbeat, in ms. Default 6,000. */
  readonly memberMs?: number;
  /** Number of streams that announcements are spread over; equal for all replicas. Default 16. */
  readonly shards?: number;
  /** Approximate length of a stream. Default 1,000. */
  readonly announcements?: number;
  /** Interval at which followers compare versions with Redis, in ms: the cost of a lost announcement. Default 15,000. */
  readonly compareMs?: number;
  /** Time for which Redis must work without a pause before a replica relies on it again, in ms. Default 10,000. */
  readonly stableMs?: number;
}

type Files = "userFile" | "passwordFile" | "sentinelUserFile" | "sentinelPasswordFile";
type TlsFiles = "tlsCaFile" | "tlsCertFile" | "tlsKeyFile" | "tlsServerName";

/** Complete and checked. Numbers are in the ranges that the proxy's options have. */
export type CheckedOptions = Readonly<
  Required<Omit<BackplaneOptions, "address" | Files | TlsFiles>> &
    Pick<BackplaneOptions, Files | TlsFiles> & { address: BackplaneAddress }
>;

const defaults = {
  keyPrefix: "bunting:",
  connectTimeoutMs: 3_000,
  commandTimeoutMs: 1_000,
  maxDocumentBytes: 16 * 1024 * 1024,
  leaseMs: 5_000,
  memberMs: 6_000,
  shards: 16,
  announcements: 1_000,
  compareMs: 15_000,
  stableMs: 10_000,
};

/**
 * Its messages name the options of the proxy.
 *
 * @throws BackplaneError ADDRESS_INVALID or OPTION_INVALID
 */
export function checkOptions(options: BackplaneOptions): CheckedOptions {
  if (!/^[\x21-\x7e]{0,100}$/.test(options.keyPrefix ?? ""))
    throw invalid(
      "--backplane-key-prefix has characters that are not visible ASCII, or more than 100 of them",
    );
  if ((options.tlsCertFile === undefined) !== (options.tlsKeyFile === undefined))
    throw invalid(
      "--backplane-cert-file and --backplane-tls-key-file belong together, and only one of them is given",
    );
  const address = parseAddress(options.address);
  const isTlsMeant = [options.tlsCaFile, options.tlsCertFile, options.tlsServerName].some(
    (one) => one !== undefined,
  );
  if (isTlsMeant && !address.isTls)
    throw invalid("--backplane is one without TLS, although files for TLS are given: write rediss://");
  if (options.userFile !== undefined && options.passwordFile === undefined)
    throw invalid(
      "--backplane-user-file is given without --backplane-password-file, and Redis accepts no user without a password",
    );
  if (options.sentinelUserFile !== undefined && options.sentinelPasswordFile === undefined)
    throw invalid(
      "--backplane-sentinel-user-file is given without --backplane-sentinel-password-file, and Sentinels accept no user without a password",
    );
  if (options.sentinelPasswordFile !== undefined && address.masterName === undefined)
    throw invalid(
      "--backplane-sentinel-password-file is given, but the address names no Sentinels: write redis+sentinel://",
    );
  return Object.freeze({ ...defaults, ...options, address });
}

function invalid(message: string): BackplaneError {
  return new BackplaneError("OPTION_INVALID", message);
}

import { BackplaneError } from "./backplane-error.js";
import { parseAddress, type BackplaneAddress } from "./address/parse-address.js";

/** How a replica uses Redis. Whoever has a command line fills it from there. */
export interface BackplaneOptions {
  /** `redis://HOST:PORT/DATABASE`, `rediss://…`, or `redis+sentinel://HOST:PORT,HOST:PORT/MASTER-NAME/DATABASE`. */
  readonly address: string;
  /** What all keys begin with, so that several deployments can share a database. Default `bunting:`. */
  readonly keyPrefix?: string;
  /** A file with the name of the user; without it, the default user. It is read again for each connection, as are the other files. */
  readonly userFile?: string;
  /** A file with the password; without it, none is presented. */
  readonly passwordFile?: string;
  /** As userFile, for Sentinels: their users are not those of Redis. */
  readonly sentinelUserFile?: string;
  /** As passwordFile, for Sentinels. */
  readonly sentinelPasswordFile?: string;
  /** A file with the certificates, in PEM, of the authorities that issue Redis its certificate; default: those that Node knows. */
  readonly tlsCaFile?: string;
  /** A file with the certificate of this client, in PEM. */
  readonly tlsCertFile?: string;
  /** A file with the private key of that certificate, in PEM. */
  readonly tlsKeyFile?: string;
  /** The name that the certificate of Redis must have, if it is not the host of the address. */
  readonly tlsServerName?: string;
  /** How long a connection may take until Redis has accepted the user, in ms. Default 3,000. */
  readonly connectTimeoutMs?: number;
  /** How long Redis may take for an answer, in ms; afterwards the connection is given up. Default 1,000. */
  readonly commandTimeoutMs?: number;
  /** How large a document may be, in bytes before it is compressed. Default 16 MiB. */
  readonly maxDocumentBytes?: number;
  /** How long a lease lasts without being renewed, in ms: what a crash of the owner costs. Default 5,000. */
  readonly leaseMs?: number;
  /** How long a replica counts as live without a beat, in ms. Default 6,000. */
  readonly memberMs?: number;
  /** How many streams the announcements of topics are spread over; all replicas need the same. Default 16. */
  readonly shards?: number;
  /** How many announcements a stream keeps, about. Default 1,000. */
  readonly announcements?: number;
  /** How often followers compare their versions with those in Redis, in ms: what a lost announcement costs. Default 15,000. */
  readonly compareMs?: number;
  /** How long Redis must have worked without a pause before a replica that lost it relies on it again, in ms. Default 10,000. */
  readonly stableMs?: number;
}

type Files = "userFile" | "passwordFile" | "sentinelUserFile" | "sentinelPasswordFile";
type TlsFiles = "tlsCaFile" | "tlsCertFile" | "tlsKeyFile" | "tlsServerName";

/** Complete and checked. */
export type CheckedOptions = Readonly<
  Required<Omit<BackplaneOptions, "address" | Files | TlsFiles>> &
    Pick<BackplaneOptions, Files | TlsFiles> & { address: BackplaneAddress }
>;

/** Default, least and most of each number. */
const numbers = {
  connectTimeoutMs: [3_000, 10, 60_000],
  commandTimeoutMs: [1_000, 10, 60_000],
  maxDocumentBytes: [16 * 1024 * 1024, 1_024, 256 * 1024 * 1024],
  leaseMs: [5_000, 100, 600_000],
  memberMs: [6_000, 100, 600_000],
  shards: [16, 1, 256],
  announcements: [1_000, 1, 1_000_000],
  compareMs: [15_000, 10, 600_000],
  stableMs: [10_000, 10, 300_000],
} as const;

/** @throws BackplaneError ADDRESS_INVALID or OPTION_INVALID */
export function checkOptions(options: BackplaneOptions): CheckedOptions {
  const { keyPrefix = "bunting:" } = options;
  if (!/^[\x21-\x7e]{0,100}$/.test(keyPrefix))
    throw invalid("keyPrefix", "has characters that are not visible ASCII, or more than 100 of them");
  if ((options.tlsCertFile === undefined) !== (options.tlsKeyFile === undefined))
    throw invalid("tlsCertFile", "and tlsKeyFile belong together, and only one of them is given");
  const address = parseAddress(options.address);
  const isTlsMeant = [options.tlsCaFile, options.tlsCertFile, options.tlsServerName].some(
    (one) => one !== undefined,
  );
  if (isTlsMeant && !address.isTls)
    throw invalid("address", "is one without TLS, although files for TLS are given: write rediss://");
  if (options.userFile !== undefined && options.passwordFile === undefined)
    throw invalid("userFile", "is given without passwordFile, and Redis accepts no user without a password");
  if (options.sentinelUserFile !== undefined && options.sentinelPasswordFile === undefined)
    throw invalid(
      "sentinelUserFile",
      "is given without sentinelPasswordFile, and Sentinels accept no user without a password",
    );
  if (options.sentinelPasswordFile !== undefined && address.masterName === undefined)
    throw invalid(
      "sentinelPasswordFile",
      "is given, but the address names no Sentinels: write redis+sentinel://",
    );
  const checked = Object.fromEntries(
    Object.entries(numbers).map(([name, [byDefault, least, most]]) => {
      const value = options[name as keyof typeof numbers] ?? byDefault;
      if (!Number.isInteger(value) || value < least || value > most)
        throw invalid(name, `is ${value}, and must be an integer from ${least} to ${most}`);
      return [name, value];
    }),
  ) as Record<keyof typeof numbers, number>;
  return Object.freeze({ ...options, keyPrefix, address, ...checked });
}

function invalid(option: string, what: string): BackplaneError {
  return new BackplaneError("OPTION_INVALID", `the option ${option} of the backplane ${what}`);
}

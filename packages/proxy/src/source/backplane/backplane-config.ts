import { BackplaneError, checkOptions, type CheckedOptions } from "@bunting/backplane/options";
import { flagName } from "@bunting/runtime";
import { backplaneOptionTable } from "../../backplane-options.js";
import type { ProxyOptions } from "../../options.js";
import { ProxyError } from "../../proxy-error.js";

export type BackplaneProxyOptions = Pick<
  ProxyOptions,
  | "backplane"
  | "backplaneUserFile"
  | "backplanePasswordFile"
  | "backplaneSentinelUserFile"
  | "backplaneSentinelPasswordFile"
  | "backplaneCaFile"
  | "backplaneCertFile"
  | "backplaneTlsKeyFile"
  | "backplaneServerName"
  | "backplaneKeyFile"
  | "backplaneKeyPrefix"
  | "backplaneLease"
  | "backplaneStable"
>;

/** Names of the proxy's options, by the backplane's names for them. */
const names: Readonly<Record<string, string>> = {
  keyPrefix: "--backplane-key-prefix",
  leaseMs: "--backplane-lease",
  stableMs: "--backplane-stable",
  tlsCertFile: "--backplane-cert-file",
  tlsKeyFile: "--backplane-tls-key-file",
  tlsCaFile: "--backplane-ca-file",
  userFile: "--backplane-user-file",
  passwordFile: "--backplane-password-file",
  sentinelUserFile: "--backplane-sentinel-user-file",
  sentinelPasswordFile: "--backplane-sentinel-password-file",
  address: "--backplane",
};

/** Options that have no effect without an address. */
const useless = [
  "backplaneUserFile",
  "backplanePasswordFile",
  "backplaneSentinelUserFile",
  "backplaneSentinelPasswordFile",
  "backplaneCaFile",
  "backplaneCertFile",
  "backplaneTlsKeyFile",
  "backplaneServerName",
  "backplaneKeyFile",
  "backplaneKeyPrefix",
  "backplaneLease",
  "backplaneStable",
] as const;

/**
 * The checked options of the backplane; undefined if Redis is not used.
 *
 * @throws ProxyError OPTION_INVALID
 */
export function backplaneConfig(options: BackplaneProxyOptions): CheckedOptions | undefined {
  if (options.backplane !== "") return checked(options);
  const given = useless.find((name) => options[name] !== backplaneOptionTable[name].default);
  if (given === undefined) return undefined;
  throw new ProxyError(
    "OPTION_INVALID",
    `--${flagName(given, {})} is given without --backplane, which says where Redis is: each replica would watch for itself, and share nothing`,
  );
}

function checked(options: BackplaneProxyOptions): CheckedOptions {
  const texts = {
    userFile: options.backplaneUserFile,
    passwordFile: options.backplanePasswordFile,
    sentinelUserFile: options.backplaneSentinelUserFile,
    sentinelPasswordFile: options.backplaneSentinelPasswordFile,
    tlsCaFile: options.backplaneCaFile,
    tlsCertFile: options.backplaneCertFile,
    tlsKeyFile: options.backplaneTlsKeyFile,
    tlsServerName: options.backplaneServerName,
  };
  try {
    return checkOptions({
      address: options.backplane,
      keyPrefix: options.backplaneKeyPrefix,
      leaseMs: options.backplaneLease,
      // A little longer than a lease: when others notice that a replica is gone, its leases have expired.
      memberMs: Math.round(1.2 * options.backplaneLease),
      stableMs: options.backplaneStable,
      ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== "")),
    });
  } catch (error) {
    if (!(error instanceof BackplaneError)) throw error;
    const message = error.message
      .replace(/the option (\w+) of the backplane/, (_, name: string) => names[name] ?? name)
      .replace(/\b(tlsKeyFile|passwordFile|sentinelPasswordFile)\b/g, (name) => names[name] ?? name);
    throw new ProxyError("OPTION_INVALID", `--backplane can't be used: ${message}`, { cause: error });
  }
}

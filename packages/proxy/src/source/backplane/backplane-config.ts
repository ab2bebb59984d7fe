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

/** As the options of the proxy are called that the backplane knows by other names. */
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

/** What does nothing without an address. */
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
 * How the options say that Redis is used; undefined if they do not.
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
      // As long as a lease, and a little: who is gone owns nothing any more when others notice it.
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

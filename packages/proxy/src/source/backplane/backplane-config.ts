import { BackplaneError, checkOptions, type CheckedOptions } from "@bunting/backplane/options";
import { givenFlags, type OptionsOf } from "@bunting/runtime";
import { backplaneOptionTable } from "../../backplane-options.js";
import { ProxyError } from "../../proxy-error.js";

export type BackplaneProxyOptions = OptionsOf<typeof backplaneOptionTable>;

/** The proxy's options with a text that may be empty, by the backplane's names for them. */
const texts = {
  userFile: "backplaneUserFile",
  passwordFile: "backplanePasswordFile",
  sentinelUserFile: "backplaneSentinelUserFile",
  sentinelPasswordFile: "backplaneSentinelPasswordFile",
  tlsCaFile: "backplaneCaFile",
  tlsCertFile: "backplaneCertFile",
  tlsKeyFile: "backplaneTlsKeyFile",
  tlsServerName: "backplaneServerName",
} as const;

/**
 * The checked options of the backplane; undefined if Redis is not used.
 *
 * @throws ProxyError OPTION_INVALID
 */
export function backplaneConfig(options: BackplaneProxyOptions): CheckedOptions | undefined {
  if (options.backplane !== "") return checked(options);
  const [given] = givenFlags(backplaneOptionTable, options);
  if (given === undefined) return undefined;
  throw ProxyError.optionInvalid(
    `--${given} is given without --backplane, which says where Redis is: each replica would watch for itself, and share nothing`,
  );
}

function checked(options: BackplaneProxyOptions): CheckedOptions {
  const given = Object.entries(texts).map(([name, key]) => [name, options[key]] as const);
  try {
    return checkOptions({
      address: options.backplane,
      keyPrefix: options.backplaneKeyPrefix,
      leaseMs: options.backplaneLease,
      // A little longer than a lease: when others notice that a replica is gone, its leases have expired.
      memberMs: Math.round(1.2 * options.backplaneLease),
      stableMs: options.backplaneStable,
      ...Object.fromEntries(given.filter(([, value]) => value !== "")),
    });
  } catch (error) {
    if (!(error instanceof BackplaneError)) throw error;
    throw ProxyError.optionInvalid(`--backplane can't be used: ${error.message}`, { cause: error });
  }
}

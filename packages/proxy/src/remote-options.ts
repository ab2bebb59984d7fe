import { allowedHosts, hostForms } from "@bunting/outbound";
import { integer, option } from "@bunting/runtime";

/** Options of remote flag providers. */
export const remoteOptionTable = {
  remoteHosts: option(
    allowedHosts,
    [] as readonly string[],
    `Hosts that FeatureFlags may name in spec.remoteFlagProvider, which this proxy then calls: ${hostForms("flags.example.com")}. If empty, none is called, and such FeatureFlags have their own flags only.`,
  ),
  maxRemotes: option(
    integer({ min: 1, max: 100_000 }),
    500,
    "How many remotes of FeatureFlags this proxy reads. Those beyond it wait until another is no longer read: their FeatureFlags have their own flags, or what the remote said before, and the condition RemoteSynced says why. A remote of 10 KB takes about 160 KB of memory.",
  ),
} as const;

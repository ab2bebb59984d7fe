import { allowedHosts, hostForms } from "@bunting/outbound";
import { option } from "@bunting/runtime";

/** Options of remote flag providers. */
export const remoteOptionTable = {
  remoteHosts: option({
    type: allowedHosts,
    default: [] as readonly string[],
    describe: `Hosts that FeatureFlags may name in spec.remoteFlagProvider, which this proxy then calls: ${hostForms("flags.example.com")}. If empty, none is called, and such FeatureFlags have their own flags only.`,
  }),
} as const;

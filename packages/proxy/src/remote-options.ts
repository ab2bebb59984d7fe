import { list, option } from "@bunting/runtime";

/** Options of remote flag providers. */
export const remoteOptionTable = {
  remoteHosts: option({
    type: list,
    default: [] as readonly string[],
    describe:
      "Hosts that FeatureFlags may name in spec.remoteFlagProvider, which this proxy then calls: flags.example.com, flags.example.com:8443, *.example.com, http://flags.example.com for one without TLS, and any of these with =10.0.0.0/8 after it for one whose addresses are not public. If empty, none is called, and such FeatureFlags have their own flags only.",
  }),
} as const;

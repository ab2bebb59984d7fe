import { defaultedFlagd, type Flagd } from "@bunting/featureflags/resources";
import type { DesiredObject } from "../desired-object.js";
import { flagdPaths } from "./flagd-paths.js";
import { flagdMetadata, type FlagdSettings } from "./flagd-settings.js";

/** The HTTPRoute of a Flagd, also of one that does not want it: then it is what is deleted. Gateways route gRPC by it as well. */
export function flagdRoute(flagd: Flagd, settings: FlagdSettings): DesiredObject {
  const { annotations, hosts = [], parentRefs = [] } = defaultedFlagd(flagd.spec).gatewayApiRoutes ?? {};
  const { ports } = settings;
  const { namespace, name } = flagd.metadata;
  const rule = (value: string, port: number): object => ({
    matches: [{ path: { type: "PathPrefix", value } }],
    backendRefs: [{ group: "", kind: "Service", namespace, name, port, weight: 1 }],
  });
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: flagdMetadata(flagd, settings, annotations),
    spec: {
      parentRefs,
      ...(hosts.length === 0 ? {} : { hostnames: hosts }),
      rules: [
        rule(flagdPaths.ofrep, ports.ofrep),
        rule(flagdPaths.evaluation, ports.evaluation),
        rule(flagdPaths.sync, ports.sync),
      ],
    },
  };
}

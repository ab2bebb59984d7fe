import { defaultedFlagd, type Flagd } from "@bunting/featureflags/resources";
import type { DesiredObject } from "../desired-object.js";
import { flagdMetadata, flagdSelector, type FlagdSettings } from "./flagd-settings.js";

/** Annotations by which tools recognise what they manage themselves: on a copy, they would take the Service for theirs. */
const toolAnnotations =
  /^(?:kubectl\.kubernetes\.io|meta\.helm\.sh|argocd\.argoproj\.io|[-\w]+\.toolkit\.fluxcd\.io)\//;

/** The Service of a Flagd, with the annotations of the Flagd and its own: load balancers of clouds are set up by them. */
export function flagdService(flagd: Flagd, settings: FlagdSettings): DesiredObject {
  const { ports } = settings;
  const annotations = Object.entries(flagd.metadata.annotations ?? {}).filter(
    ([name]) => !toolAnnotations.test(name),
  );
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: flagdMetadata(flagd, settings, {
      ...Object.fromEntries(annotations),
      ...flagd.spec.serviceAnnotations,
    }),
    spec: {
      type: defaultedFlagd(flagd.spec).serviceType,
      selector: flagdSelector(flagd),
      ports: [
        servicePort("flagd", ports.evaluation, "grpc"),
        servicePort("ofrep", ports.ofrep, "http"),
        servicePort("sync", ports.sync, "grpc"),
        servicePort("metrics", ports.management, "http"),
      ],
    },
  };
}

const servicePort = (name: string, port: number, appProtocol: string): object => ({
  name,
  port,
  targetPort: port,
  protocol: "TCP",
  appProtocol,
});

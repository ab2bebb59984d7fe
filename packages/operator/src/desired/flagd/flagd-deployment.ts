import {
  defaultedFlagd,
  type DefaultedFeatureFlagSource,
  type Flagd,
  type FlagdPodTemplate,
} from "@bunting/featureflags/resources";
import type { Container, ContainerPort, Volume } from "../../api/pod-manifest.js";
import { replicasAnnotation } from "../../api/names.js";
import type { SourcePlan } from "../../sources/source-plan.js";
import type { SourceProblem } from "../../sources/source-problem.js";
import type { DesiredObject } from "../desired-object.js";
import { sidecarArguments } from "../sidecar-arguments.js";
import { sidecarContainer } from "../sidecar-container.js";
import { sidecarEnvironment } from "../sidecar-environment.js";
import { sidecarResources } from "../sidecar-resources.js";
import { cacheVolume, mountedSources, sidecarVolumes } from "../sidecar-volumes.js";
import { unlessEmpty } from "../unless-empty.js";
import { flagdLabels, flagdMetadata, flagdSelector, type FlagdSettings } from "./flagd-settings.js";

/** The default of flagd, for which the open-feature-operator passes no argument. */
const defaultSyncPort = 8015;

export interface FlagdPods {
  readonly flagd: Flagd;
  /** Of its FeatureFlagSource. */
  readonly plan: SourcePlan;
  readonly settings: FlagdSettings;
  /** OpenShift chooses the users of a namespace itself. */
  readonly choosesUser: boolean;
}

/** The Deployment of a Flagd, and what of its FeatureFlagSource is not served. */
export function flagdDeployment(pods: FlagdPods): {
  readonly deployment: DesiredObject;
  readonly problems: readonly SourceProblem[];
} {
  const { flagd, settings } = pods;
  const { serviceAccountName = "", podTemplate = {} } = defaultedFlagd(flagd.spec);
  const replicas = firstReplicas(flagd);
  // A change of it takes the number back from whoever has scaled the Deployment.
  const asked = flagd.spec.autoscaling === undefined ? String(replicas) : "autoscaled";
  const { pod } = settings;
  const { container, volumes, problems } = flagdContainer(pods);
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: flagdMetadata(flagd, settings, { [replicasAnnotation]: asked }),
    spec: {
      replicas,
      selector: { matchLabels: flagdSelector(flagd) },
      template: {
        metadata: {
          labels: { ...pod.labels, ...podTemplate.labels, ...flagdLabels(flagd, settings) },
          ...unlessEmpty({ annotations: { ...pod.annotations, ...podTemplate.annotations } }),
        },
        spec: {
          // Both, also if they are empty, which API servers store as absent: else they take a name that was there from the older field again.
          ...{ serviceAccountName, serviceAccount: serviceAccountName },
          ...unlessEmpty({ imagePullSecrets: pod.imagePullSecrets.map((name) => ({ name })) }),
          ...placement(flagd, podTemplate),
          containers: [container],
          ...unlessEmpty({ volumes }),
        },
      },
    },
  };
  return { deployment, problems };
}

/** The number of Pods, with autoscaling until the autoscaler decides about it. */
function firstReplicas({ spec }: Flagd): number {
  const { replicas, autoscaling } = defaultedFlagd(spec);
  if (autoscaling === undefined) return replicas;
  const { minReplicas = 1, maxReplicas } = autoscaling;
  return Math.min(Math.max(replicas, minReplicas), maxReplicas);
}

/** Where Pods may be, and before which others. */
function placement(flagd: Flagd, template: FlagdPodTemplate): object {
  const { nodeSelector = {}, affinity = {}, tolerations = [], topologySpreadConstraints = [] } = template;
  const { priorityClassName = "" } = template;
  const ours = { labelSelector: { matchLabels: flagdSelector(flagd) } };
  const spread = topologySpreadConstraints.map((constraint) => ({ ...ours, ...constraint }));
  return {
    ...(priorityClassName === "" ? {} : { priorityClassName }),
    ...unlessEmpty({ nodeSelector, affinity, tolerations, topologySpreadConstraints: spread }),
  };
}

/** The container of a sidecar, at the ports of the Service. It has no variables of ours: its list is the open-feature-operator's. */
function flagdContainer({ plan, settings, choosesUser, flagd }: FlagdPods): {
  readonly container: Container;
  readonly volumes: readonly Volume[];
  readonly problems: readonly SourceProblem[];
} {
  const { spec, problems } = withoutSocket(plan.spec);
  const { ports, image } = settings;
  const environment = sidecarEnvironment(spec, "stock", false);
  const { resources, problems: resourceProblems } = sidecarResources(
    flagd.spec.podTemplate?.resources ?? spec.resources,
    settings.resources,
  );
  const { namespace } = flagd.metadata;
  const volumes = sidecarVolumes({ hasIdentity: false, socketPath: "", ...mountedSources(plan), namespace });
  const isFile = ({ name }: { readonly name: string }): boolean => name !== cacheVolume.name;
  const atPorts = {
    ...spec,
    port: ports.evaluation,
    managementPort: ports.management,
    ofrepPort: ports.ofrep,
  };
  const { volumeMounts = [], ...sidecar } = sidecarContainer(
    {
      image,
      args: [
        ...sidecarArguments(
          atPorts,
          plan.sources.map(({ element }) => element),
        ),
        ...(ports.sync === defaultSyncPort ? [] : ["--sync-port", String(ports.sync)]),
      ],
      env: environment.agent.filter(({ name }) => !name.startsWith("BUNTING_")),
      volumeMounts: volumes.agentMounts.filter(isFile),
      ports: { management: ports.management, flagd: ports.evaluation },
      traits: { hasProbes: spec.probesEnabled, choosesUser },
    },
    resources,
  );
  return {
    container: {
      ...withoutRestartPolicy(sidecar),
      ports: [
        containerPort("management", ports.management),
        containerPort("flagd", ports.evaluation),
        containerPort("ofrep", ports.ofrep),
        containerPort("sync", ports.sync),
      ],
      ...unlessEmpty({ volumeMounts }),
    },
    volumes: volumes.volumes.filter(isFile),
    problems: [...plan.problems, ...problems, ...resourceProblems, ...environment.problems],
  };
}

/** The container without what makes a sidecar of it. */
function withoutRestartPolicy(container: Container): Container {
  const fields = Object.entries(container).filter(([field]) => field !== "restartPolicy");
  return Object.fromEntries(fields) as unknown as Container;
}

const containerPort = (name: string, port: number): ContainerPort => ({
  name,
  containerPort: port,
  protocol: "TCP",
});

/** The spec without a socket: applications in other Pods can't reach one, and with it there is no port. */
function withoutSocket(given: DefaultedFeatureFlagSource): {
  readonly spec: DefaultedFeatureFlagSource;
  readonly problems: readonly SourceProblem[];
} {
  const { socketPath = "", ...spec } = given;
  if (socketPath === "") return { spec, problems: [] };
  const message = `socketPath: ${socketPath} is left out, because a Flagd serves by its Service`;
  return { spec, problems: [{ reason: "InvalidSetting", message }] };
}

import { duration, longestMs } from "@bunting/runtime";
import type { DesiredObject } from "../desired-object.js";
import { managedLabels } from "../managed-labels.js";
import { imageUser } from "../sidecar-container.js";
import { imageRevision } from "../image-reference.js";
import { proxyAccessAnnotation, proxySecurityArguments, proxyTlsParts } from "../proxy-security/proxy-tls.js";
import { unlessEmpty } from "../unless-empty.js";
import { proxyRedis, type SecretParts } from "./proxy-redis.js";
import {
  deploymentSelector,
  podSelector,
  portNames,
  proxyNames,
  type ProxySettings,
} from "./proxy-settings.js";

const versionLabel = "app.kubernetes.io/version";
const defaultSyncPort = 8015;
/** After this time without a new available Pod, the API server says that the rollout has failed. */
const progressDeadlineSeconds = 300;
/** The proxy's options for its end, and their defaults. */
const drainMs = { "drain-delay": 3_000, "drain-window": 5_000 };

const statusMount = { name: "status", mountPath: "/var/run/secrets/bunting.dev/status", readOnly: true };
/** A variable, which the open-feature-operator's proxy ignores. */
const statusVariable = { name: "BUNTING_STATUS_TOKEN_FILE", value: `${statusMount.mountPath}/tokens` };
/** Without the Secret the proxy serves flags all the same. */
const statusVolume = {
  name: statusMount.name,
  secret: { secretName: proxyNames.statusTokens, optional: true },
};

/** The Deployment of the proxy: Pods as those of the Helm chart, under the names and labels of the open-feature-operator. */
export function proxyDeployment(
  settings: ProxySettings,
  image: string,
  annotations: Readonly<Record<string, string>>,
): DesiredObject {
  const { namespace, replicas, pod, access = "plain" } = settings;
  const ofPods = { ...pod.annotations, ...(access === "plain" ? {} : { [proxyAccessAnnotation]: access }) };
  const labels = { ...deploymentSelector, ...managedLabels, [versionLabel]: imageRevision(image) };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: proxyNames.deployment, namespace, labels, ...unlessEmpty({ annotations }) },
    spec: {
      replicas,
      progressDeadlineSeconds,
      selector: { matchLabels: deploymentSelector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          // Those of the operator's options can't take the Pods away from their Deployment and Service.
          labels: { ...pod.labels, ...labels, ...podSelector },
          ...unlessEmpty({ annotations: ofPods }),
        },
        spec: podSpec(settings, image),
      },
    },
  };
}

function podSpec({ pod, options, choosesUser = true, ...settings }: ProxySettings, image: string): object {
  return {
    serviceAccountName: pod.serviceAccountName,
    automountServiceAccountToken: true,
    // Variables such as BUNTING_PORT=tcp://…, which a Service called `bunting` would make, must not be taken for options.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: gracePeriodSeconds(options),
    ...unlessEmpty({ imagePullSecrets: pod.imagePullSecrets.map((name) => ({ name })) }),
    securityContext: {
      runAsNonRoot: true,
      ...(choosesUser ? imageUser : {}),
      seccompProfile: { type: "RuntimeDefault" },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        // Not DoNotSchedule: with it an update hangs wherever a node is cordoned.
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: podSelector },
        matchLabelKeys: ["pod-template-hash"],
      },
    ],
    containers: [container({ options, ...settings }, image)],
    ...unlessEmpty({ volumes: secretsOf(settings).volumes }),
  };
}

function container(settings: Omit<ProxySettings, "pod">, image: string): object {
  const { ports } = settings;
  const { env, mounts } = secretsOf(settings);
  const get = (path: string): object => ({ path, port: portNames.management });
  return {
    name: proxyNames.container,
    image,
    imagePullPolicy: "IfNotPresent",
    args: proxyArguments(settings),
    ...unlessEmpty({ env }),
    ports: [
      { name: portNames.sync, containerPort: ports.sync, protocol: "TCP" },
      { name: portNames.management, containerPort: ports.management, protocol: "TCP" },
    ],
    readinessProbe: { httpGet: get("/readyz"), periodSeconds: 2, timeoutSeconds: 1 },
    livenessProbe: { httpGet: get("/healthz"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    ...unlessEmpty({ volumeMounts: mounts }),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}

/** What the proxy has of Secrets, in variables and files, which no list of processes shows. */
function secretsOf({
  tellsAgents,
  redis,
  access = "plain",
}: Pick<ProxySettings, "tellsAgents" | "redis" | "access">): SecretParts {
  const { env, mounts, volumes } = proxyRedis(redis);
  const tls = proxyTlsParts(access);
  return {
    env: [...(tellsAgents ? [statusVariable] : []), ...env],
    mounts: [...(tellsAgents ? [statusMount] : []), ...mounts, ...tls.mounts],
    volumes: [...(tellsAgents ? [statusVolume] : []), ...volumes, ...tls.volumes],
  };
}

/** The open-feature-operator's arguments, which its own proxy takes as well, then what differs from the proxy's defaults. */
function proxyArguments({
  ports,
  debugLogging,
  options,
  access = "plain",
  authorizesAll = false,
}: Pick<
  ProxySettings,
  "ports" | "debugLogging" | "options" | "access" | "authorizesAll"
>): readonly string[] {
  const further = Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...["start", "--management-port", String(ports.management)],
    ...(ports.sync === defaultSyncPort ? [] : ["--port", String(ports.sync)]),
    ...(debugLogging ? ["--debug"] : []),
    ...proxySecurityArguments(access, authorizesAll && options["authorize"] === undefined),
    ...further.map(([name, value]) => `--${name}=${value}`),
  ];
}

/** The time in which connections are ended, 1 s for peers that do not read, and some slack. */
function gracePeriodSeconds(options: Readonly<Record<string, string>>): number {
  const type = duration({ minMs: 0, maxMs: longestMs, zero: "off" });
  const sumMs = Object.entries(drainMs).reduce((sum, [name, defaultMs]) => {
    const text = options[name];
    return sum + (text === undefined ? defaultMs : type.fromTexts([text]));
  }, 0);
  return Math.ceil(sumMs / 1_000) + 7;
}

import { choice, list, option, optionGroup, port, text, toggle } from "@bunting/runtime";
import { colonMapping, quantity } from "./option-values.js";

/** The options of the sidecars: what holds where a FeatureFlagSource says nothing. */
export const sidecarOptionTable = optionGroup("Sidecars", {
  sidecarImage: option({
    type: text,
    default: "ghcr.io/bunting/bunting-agent",
    describe: "Image of the sidecar, with or without a digest.",
    env: ["SIDECAR_IMAGE"],
  }),
  sidecarTag: option({
    type: text,
    default: "",
    describe: "Its tag. If empty, and the image has no digest, the operator's own version.",
    env: ["SIDECAR_TAG"],
  }),
  sidecarPort: option({
    type: port,
    default: 8013,
    describe: "Port of evaluations.",
    env: ["SIDECAR_PORT"],
  }),
  sidecarManagementPort: option({
    type: port,
    default: 8014,
    describe: "Port of probes and metrics.",
    env: ["SIDECAR_MANAGEMENT_PORT"],
  }),
  sidecarSocketPath: option({
    type: text,
    default: "",
    describe: "A unix socket for evaluations, in place of the port.",
    env: ["SIDECAR_SOCKET_PATH"],
  }),
  sidecarEvaluator: option({
    type: text,
    default: "json",
    describe: "Evaluator that providers are told of.",
    env: ["SIDECAR_EVALUATOR"],
  }),
  sidecarProviderArgs: option({
    type: list,
    default: [],
    describe: "Arguments of sync providers, each as key=value.",
    env: ["SIDECAR_PROVIDER_ARGS"],
  }),
  sidecarSyncProvider: option({
    type: text,
    default: "kubernetes",
    describe: "Provider of sources that name none.",
    env: ["SIDECAR_SYNC_PROVIDER"],
  }),
  sidecarLogFormat: option({
    type: text,
    default: "json",
    describe: "Format of the sidecar's log: json or console.",
    env: ["SIDECAR_LOG_FORMAT"],
  }),
  sidecarEnvVarPrefix: option({
    type: text,
    default: "FLAGD",
    describe: "What the names of the variables that sidecars and applications get begin with.",
    env: ["SIDECAR_ENV_VAR_PREFIX"],
  }),
  sidecarProbesEnabled: option({
    type: toggle,
    default: true,
    describe: "Sidecars have probes.",
    env: ["SIDECAR_PROBES_ENABLED"],
  }),
  sidecarCpuRequest: option({
    type: quantity,
    default: "20m",
    describe: "CPU that a sidecar requests.",
  }),
  sidecarCpuLimit: option({
    type: quantity,
    default: "",
    describe: "CPU that a sidecar may use. No limit by default, because throttling delays answers.",
  }),
  sidecarRamRequest: option({
    type: quantity,
    default: "32Mi",
    describe: "Memory that a sidecar requests.",
  }),
  sidecarRamLimit: option({
    type: quantity,
    default: "64Mi",
    describe: "Memory that a sidecar may use.",
  }),
  imagePullSecrets: option({
    type: list,
    default: [],
    describe:
      "Secrets with credentials of the registry. The proxy's is in the operator's namespace, a sidecar's in that of its Pod.",
  }),
  labels: option({
    type: colonMapping,
    default: {},
    describe: "Labels of the Pods that the operator deploys.",
  }),
  annotations: option({
    type: colonMapping,
    default: {},
    describe: "Annotations of the Pods that the operator deploys.",
  }),
  hostNetworkPods: option({
    type: choice("skip", "inject"),
    default: "skip",
    describe:
      "What becomes of Pods that use the network of their node: skip gives them no sidecar, whose ports would be open to others; inject does, as the open-feature-operator: two of them never fit on one node.",
  }),
  applicationEnv: option({
    type: choice("connection", "stock"),
    default: "connection",
    describe:
      "Which variables containers of the application get: connection those that say where the sidecar is; stock also the envVars and settings of the sidecar, as the open-feature-operator does.",
  }),
});

import { choice, list, option, optionGroup, port, text, toggle, textOption } from "@bunting/runtime";
import { colonMapping, quantity } from "./option-values.js";

/** The options of the sidecars: what holds where a FeatureFlagSource says nothing. */
export const sidecarOptionTable = optionGroup("Sidecars", {
  sidecarImage: option(
    text,
    "ghcr.io/bunting/bunting-agent",
    "Image of the sidecar, with or without a digest.",
    { env: ["SIDECAR_IMAGE"] },
  ),
  sidecarTag: textOption("Its tag. If empty, and the image has no digest, the operator's own version.", {
    env: ["SIDECAR_TAG"],
  }),
  sidecarPort: option(port, 8013, "Port of evaluations.", { env: ["SIDECAR_PORT"] }),
  sidecarManagementPort: option(port, 8014, "Port of probes and metrics.", {
    env: ["SIDECAR_MANAGEMENT_PORT"],
  }),
  sidecarSocketPath: textOption("A unix socket for evaluations, in place of the port.", {
    env: ["SIDECAR_SOCKET_PATH"],
  }),
  sidecarEvaluator: option(text, "json", "Evaluator that providers are told of.", {
    env: ["SIDECAR_EVALUATOR"],
  }),
  sidecarProviderArgs: option(list, [], "Arguments of sync providers, each as key=value.", {
    env: ["SIDECAR_PROVIDER_ARGS"],
  }),
  sidecarSyncProvider: option(text, "kubernetes", "Provider of sources that name none.", {
    env: ["SIDECAR_SYNC_PROVIDER"],
  }),
  sidecarLogFormat: option(text, "json", "Format of the sidecar's log: json or console.", {
    env: ["SIDECAR_LOG_FORMAT"],
  }),
  sidecarEnvVarPrefix: option(
    text,
    "FLAGD",
    "What the names of the variables that sidecars and applications get begin with.",
    { env: ["SIDECAR_ENV_VAR_PREFIX"] },
  ),
  sidecarProbesEnabled: option(toggle, true, "Sidecars have probes.", { env: ["SIDECAR_PROBES_ENABLED"] }),
  sidecarCpuRequest: option(quantity, "20m", "CPU that a sidecar requests."),
  sidecarCpuLimit: option(
    quantity,
    "",
    "CPU that a sidecar may use. No limit by default, because throttling delays answers.",
  ),
  sidecarRamRequest: option(quantity, "32Mi", "Memory that a sidecar requests."),
  sidecarRamLimit: option(quantity, "64Mi", "Memory that a sidecar may use."),
  imagePullSecrets: option(
    list,
    [],
    "Secrets with credentials of the registry. The proxy's is in the operator's namespace, a sidecar's in that of its Pod.",
  ),
  labels: option(colonMapping, {}, "Labels of the Pods that the operator deploys."),
  annotations: option(colonMapping, {}, "Annotations of the Pods that the operator deploys."),
  hostNetworkPods: option(
    choice("skip", "inject"),
    "skip",
    "What becomes of Pods that use the network of their node: skip gives them no sidecar, whose ports would be open to others; inject does, as the open-feature-operator: two of them never fit on one node.",
  ),
  applicationEnv: option(
    choice("connection", "stock"),
    "connection",
    "Which variables containers of the application get: connection those that say where the sidecar is; stock also the envVars and settings of the sidecar, as the open-feature-operator does.",
  ),
});

import {
  choice,
  kubeconfigOptions,
  option,
  optionGroup,
  port,
  serviceAccountOption,
  serviceOptions,
  text,
  toggle,
  type OptionsOf,
  textOption,
  toggleOption,
} from "@bunting/runtime";
import { extensionsOptionTable } from "./extension-options.js";
import { flagdOptionTable } from "./flagd-options.js";
import { ignoredOptionTable } from "./ignored-options.js";
import { inProcessOptionTable } from "./in-process-options.js";
import { bindAddress, namespaces } from "./option-values.js";
import { deployedProxyOptionTable } from "./proxy-options.js";
import { sidecarOptionTable } from "./sidecar-options.js";

const cluster = "Reaching the cluster";

/** Every option of `bunting-operator start`; docs/reference/operator-options.md and `--help` are rendered from here. */
export const operatorOptionTable = {
  ...optionGroup("Listening", {
    healthProbeBindAddress: option(
      bindAddress,
      { port: 8081 },
      "Address of /healthz, /readyz and /metrics; port 0 takes a free one.",
    ),
    metricsBindAddress: option(
      bindAddress,
      { port: 8080 },
      "A second address of the same pages, where the open-feature-operator has its metrics; 0: none.",
    ),
    webhookPort: option(port, 9443, "Port of the admission webhooks, HTTPS only; 0 takes a free one."),
  }),
  ...optionGroup("Replicas", {
    leaderElect: option(
      toggle,
      true,
      "One of several replicas is elected, and it alone writes to the cluster. Without election, nothing but the number of replicas keeps two from doing so.",
    ),
    takeover: toggleOption(
      "Begins although another operator, such as the open-feature-operator, is still there. Without it, nothing is written until that is gone.",
    ),
    namespace: option(
      text,
      "open-feature-operator-system",
      "Namespace of the operator, and of all that it deploys for the whole cluster.",
      { env: ["POD_NAMESPACE"] },
    ),
    podName: textOption(
      "Name of the operator's Pod, by which its Deployment is found. If empty, the host's name.",
      { env: ["POD_NAME"] },
    ),
  }),
  ...optionGroup("Who may use what", {
    watchNamespaces: option(
      namespaces,
      [],
      "The only namespaces that are served: whose objects are read, and whose Pods get flags. The operator then needs a Role in each of them, and in the whole cluster nothing but the configurations of its webhooks. If empty, all namespaces.",
    ),
    crossNamespace: option(
      choice("consent", "legacy", "deny"),
      "consent",
      "Whether Pods may use a FeatureFlagSource or an InProcessConfiguration of another namespace: consent if its annotation bunting.dev/readers names theirs; legacy always, as with the open-feature-operator; deny never.",
    ),
    providerKubernetes: option(
      choice("proxy", "direct"),
      "proxy",
      "How sources with the provider kubernetes are served: proxy by the proxy, so that workloads need no permission; direct by a watch of each sidecar, which RoleBindings permit to all ServiceAccounts of its namespace, for the namespaces of such FeatureFlags.",
    ),
    flagReaderRole: option(
      text,
      "bunting-operator-flagd-proxy",
      "The ClusterRole of these RoleBindings, which may read FeatureFlags; with --watch-namespaces a Role in each of the namespaces. It has to be there.",
    ),
  }),
  ...deployedProxyOptionTable,
  ...sidecarOptionTable,
  ...inProcessOptionTable,
  ...flagdOptionTable,
  ...extensionsOptionTable,
  ...optionGroup("Pods", {
    missingSource: option(
      choice("admit", "refuse"),
      "admit",
      "What becomes of a new Pod that names a FeatureFlagSource or an InProcessConfiguration that is not there, or not shared with its namespace: admit starts it without flags; refuse has what makes it try again until it is there, as the open-feature-operator does.",
    ),
    podSelector: textOption(
      "Label selector of the Pods that get flags, such as team=shop, as the configuration of the webhooks has it: others are not missed. If empty, all that ask for them.",
    ),
    missedPods: option(
      choice("report", "evict"),
      "report",
      "What is done about Pods that ask for flags and have no sidecar: report says so in an event and a metric; evict also evicts them, one of a workload in 30 s, so that they start anew.",
    ),
    rolloutOnChange: toggleOption(
      "Obeys rolloutOnChange of FeatureFlagSources: workloads are restarted when what their Pods get has changed, but for FeatureFlags that their sidecars follow. The operator has to be permitted to patch the Deployments, StatefulSets and DaemonSets of all namespaces.",
    ),
    agentRollouts: toggleOption(
      "Obeys objects of the kind AgentRollout: running sidecars get another image in place. The operator has to be permitted to patch the Pods of all namespaces, and to create Pods in its own, by which nodes pull an image; ValidatingAdmissionPolicies hold it to the sidecar's image and to these.",
    ),
    inlineFlags: toggleOption(
      "Makes FeatureFlags of flags that workloads have in their own manifest (openfeature.dev/inline-flags). The operator has to be permitted to watch and to patch workloads, which a ValidatingAdmissionPolicy holds to annotations, and to write FeatureFlags.",
    ),
  }),
  ...optionGroup("Webhooks", {
    flagsValidation: option(toggle, true, "FeatureFlags are checked by a webhook when they are written.", {
      env: ["FLAGS_VALIDATION_ENABLED"],
    }),
    certificates: option(
      choice("own", "files", "cert-manager"),
      "own",
      "Where the certificate of the webhooks comes from: own makes an authority; files and cert-manager read it from --webhook-cert-path. API servers are told of the authority by the operator, but with cert-manager by that.",
    ),
    webhookCertPath: textOption("Directory of the certificate, unless the authority is our own."),
    webhookCertName: option(text, "tls.crt", "File of the certificate in that directory."),
    webhookCertKey: option(text, "tls.key", "File of its key."),
    webhookCaName: option(
      text,
      "ca.crt",
      "File of its authority's certificate, for --certificates=files; empty: somebody else tells API servers of it.",
    ),
    webhookService: option(
      text,
      "open-feature-operator-webhook-service",
      "The Service of the webhooks, whose names the certificate is for.",
    ),
  }),
  ...kubeconfigOptions(cluster),
  ...serviceAccountOption(cluster),
  ...serviceOptions("General", { default: "json", env: ["BUNTING_LOG_FORMAT"] }, { env: ["BUNTING_DEBUG"] }),
  ...ignoredOptionTable,
} as const;

export type OperatorOptions = OptionsOf<typeof operatorOptionTable>;

import {
  ClusterWatches,
  connectCluster,
  EventRecorder,
  LeaderElection,
  type ConnectedCluster,
} from "@bunting/kube";
import { managementHandler, runComponents, type Context } from "@bunting/runtime";
import { PeerMemory, PortListener } from "@bunting/server";
import { AdmissionHandler } from "../admission/admission-handler.js";
import { AdmissionServer } from "../admission/admission-server.js";
import { podWebhook } from "../admission/mutate-pod.js";
import { featureFlagWebhook } from "../admission/validate-feature-flag.js";
import { workloadWebhook } from "../admission/workload-webhook.js";
import { AuthorityKeeper } from "../certificates/authority-keeper.js";
import { proxyLeafKeeper } from "../certificates/proxy-leaf-keeper.js";
import { SecretWatch } from "../certificates/secret-watch.js";
import { servingCertificates } from "../certificates/serving-certificates.js";
import { WebhookKeyKeeper } from "../certificates/webhook-key-keeper.js";
import { statusTokenKeeper } from "../certificates/status-token-keeper.js";
import { AgentStatus } from "../controllers/agents/agent-status.js";
import { ProxyAgents } from "../controllers/agents/proxy-agents.js";
import { AgentRolloutController } from "../controllers/agent-rollout/agent-rollout-controller.js";
import { Applier } from "../controllers/apply/applier.js";
import { AccessController } from "../controllers/access/access-controller.js";
import { ClusterExtensions } from "../controllers/extensions/cluster-extensions.js";
import { ExtendedEntries } from "../controllers/extensions/extended-entries.js";
import { ExtendedInjection } from "../controllers/extensions/extended-injection.js";
import { extendedLookup } from "../controllers/extensions/extended-lookup.js";
import { ExtendingApplier } from "../controllers/extensions/extending-applier.js";
import { ExtensionHealth } from "../controllers/extensions/extension-health.js";
import { ExtensionProbes } from "../controllers/extensions/extension-probes.js";
import { ExtensionRetries } from "../controllers/extensions/extension-retries.js";
import { extensionToken } from "../controllers/extensions/extension-token.js";
import { ExtensionHealthController } from "../controllers/extensions/extension-health-controller.js";
import { ExtensionPlaceController } from "../controllers/extensions/extension-place-controller.js";
import { flagComments } from "../controllers/extensions/flag-comments.js";
import { StoredInjections } from "../controllers/extensions/stored-injections.js";
import { ExtensionCaller } from "../extensions/extension-caller.js";
import { FeatureFlagStatus } from "../controllers/feature-flag-status.js";
import { FlagdController } from "../controllers/flagd/flagd-controller.js";
import { compilingLookup } from "../controllers/injection/compiling-lookup.js";
import { ClusterNamespaces } from "../controllers/injection/cluster-namespaces.js";
import { ClusterSources } from "../controllers/injection/cluster-sources.js";
import { UnservedFlagds } from "../controllers/flagd/unserved-flagds.js";
import { InlineFlagsController } from "../controllers/inline-flags/inline-flags-controller.js";
import { InjectionController } from "../controllers/injection/injection-controller.js";
import { SeenTexts } from "../controllers/injection/seen-texts.js";
import { SourceStatusController } from "../controllers/injection/source-status-controller.js";
import { SourceUsage } from "../controllers/injection/source-usage.js";
import { OtherOperator } from "../controllers/other-operator.js";
import { ownDeployment } from "../controllers/own-deployment.js";
import { MissedPods } from "../controllers/pods/missed-pods.js";
import { FlagRollouts } from "../controllers/push/flag-rollouts.js";
import { PodStream } from "../controllers/pods/pod-stream.js";
import { ProxyController } from "../controllers/proxy/proxy-controller.js";
import { ProxyReadyController } from "../controllers/proxy/proxy-ready-controller.js";
import { ProxySubscribers } from "../controllers/proxy/proxy-subscribers.js";
import { ProxyUse } from "../controllers/proxy/proxy-use.js";
import { proxyWatches } from "../controllers/proxy/proxy-watches.js";
import { RolloutOnChange } from "../controllers/rollout/rollout-on-change.js";
import { AuthorityMaps } from "../controllers/security/authority-maps.js";
import { SecurityController } from "../controllers/security/security-controller.js";
import { SecurityWatch } from "../controllers/security/security-watch.js";
import { WebhookConfigurations } from "../controllers/webhook-configurations.js";
import type { OperatorMetrics } from "../operator-metrics.js";
import type { OperatorOptions } from "../options.js";

/** What an operator is made of. The wiring takes its parts from here, so that its test can see what each of them is given. */
export const operatorParts = {
  connectCluster,
  ClusterWatches,
  EventRecorder,
  LeaderElection,
  OtherOperator,
  servingCertificates,
  SecretWatch,
  AuthorityKeeper,
  proxyLeafKeeper,
  AuthorityMaps,
  SecurityWatch,
  SecurityController,
  WebhookKeyKeeper,
  ClusterNamespaces,
  ClusterSources,
  SeenTexts,
  InjectionController,
  SourceStatusController,
  SourceUsage,
  AccessController,
  compilingLookup,
  ClusterExtensions,
  ExtensionHealth,
  ExtensionProbes,
  ExtensionCaller,
  ExtensionRetries,
  extensionToken,
  ExtendedEntries,
  ExtendedInjection,
  StoredInjections,
  ExtensionHealthController,
  ExtensionPlaceController,
  ExtendingApplier,
  extendedLookup,
  flagComments,
  PodStream,
  MissedPods,
  RolloutOnChange,
  AgentRolloutController,
  InlineFlagsController,
  FlagdController,
  UnservedFlagds,
  FeatureFlagStatus,
  statusTokenKeeper,
  ProxyAgents,
  AgentStatus,
  FlagRollouts,
  ownDeployment,
  Applier,
  ProxyUse,
  ProxySubscribers,
  ProxyController,
  ProxyReadyController,
  proxyWatches,
  podWebhook,
  featureFlagWebhook,
  workloadWebhook,
  AdmissionHandler,
  AdmissionServer,
  WebhookConfigurations,
  PeerMemory,
  PortListener,
  managementHandler,
  runComponents,
};

export type OperatorParts = typeof operatorParts;

/** The parts that every chapter of the wiring needs. */
export interface OperatorWiring {
  readonly options: OperatorOptions;
  readonly parts: OperatorParts;
  readonly context: Context<OperatorMetrics>;
  readonly cluster: ConnectedCluster;
  readonly watches: ClusterWatches;
  /** The namespaces that are served; undefined: all. */
  readonly served: readonly string[] | undefined;
  /** Of this process: the Pod's name. */
  readonly instance: string;
}

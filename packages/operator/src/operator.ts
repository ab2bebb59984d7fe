/**
 * The only file that sees the whole operator. It is the way of a FeatureFlagSource: watches → controllers, which compile it and deploy what it
 * asks for, on the replica that leads → admission, which looks up what was compiled, on every replica. Each step is a chapter of wiring/.
 * Nothing is started here; `components` is the order of the start.
 */
import {
  createRegistry,
  processMetrics,
  runnableComponent,
  systemClock,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import { operatorMetrics } from "./operator-metrics.js";
import { OperatorReadiness } from "./operator-readiness.js";
import type { OperatorOptions } from "./options.js";
import { agentRollouts, rollouts } from "./wiring/rollouts.js";
import { admissionPort } from "./wiring/admission.js";
import { certificatesOf } from "./wiring/certificates.js";
import { compiledInjections } from "./wiring/compiled-injections.js";
import { countedAgents } from "./wiring/counted-agents.js";
import { deployedProxy } from "./wiring/deployed-proxy.js";
import { extensionsOf } from "./wiring/extensions.js";
import { featureFlagChecks } from "./wiring/feature-flag-checks.js";
import { flagds } from "./wiring/flagds.js";
import { inlineFlags } from "./wiring/inline-flags.js";
import { leadership } from "./wiring/leadership.js";
import { managementPorts } from "./wiring/management-ports.js";
import * as operatorParts from "./wiring/operator-parts.js";
import { ownDeploymentOf } from "./wiring/own-deployment.js";
import { proxySecurity } from "./wiring/proxy-security.js";
import { watchedCluster } from "./wiring/watched-cluster.js";
import { watchedPods } from "./wiring/watched-pods.js";
import { webhookCalls } from "./wiring/webhook-calls.js";

export interface OperatorProgram {
  /** Runs until the signal aborts. Rejects with the error that prevented the start or ended it. */
  run(signal: AbortSignal): Promise<void>;
}

/** More than each component needs: those that lead end their work within 5 s. */
const stopTimeoutMs = 10_000;

/**
 * @param parts replaced by the test of the wiring
 * @throws OperatorError OPTION_INVALID if the options contradict each other
 * @throws KubeError CONFIG_INVALID if the options and the environment name no cluster.
 */
export async function createOperator(
  options: OperatorOptions,
  logger: Logger,
  clock: Clock = systemClock,
  parts = operatorParts,
): Promise<OperatorProgram> {
  const registry = createRegistry(false);
  processMetrics(registry);
  const context = { clock, logger, metrics: operatorMetrics(registry) };
  const { wiring, unread } = await watchedCluster(options, parts, context);
  const { cluster, instance } = wiring;
  const events = new parts.EventRecorder({
    ...{ client: cluster.client, controller: "bunting.dev/operator", instance, context },
    onDropped: () => context.metrics.eventDropped(),
  });
  const owner = ownDeploymentOf(wiring);
  const certificates = certificatesOf(wiring);
  const use = new parts.ProxyUse(options.proxy);
  const security = proxySecurity(wiring, events);
  const extensions = extensionsOf(wiring, events);
  const injections = compiledInjections(wiring, { use, security, extensions, events });
  const calls = webhookCalls(wiring, certificates);
  const { sources, lookup } = injections;
  const levelOfNamespace = (namespace: string): string | undefined => sources.validationOf(namespace);
  const counted = countedAgents(wiring, { events });
  const checks = featureFlagChecks(wiring, {
    ...{ events, levelOfNamespace, others: counted.listeners },
    listenToLevels: (listener) => sources.listenToValidation(listener),
  });
  const pods = watchedPods(wiring, { events, injections });
  const restarts = rollouts(wiring, { events, sources, proxies: counted.proxies });
  const upgrades = agentRollouts(wiring, { events, proxies: counted.proxies });
  const inline = inlineFlags(wiring, { events });
  const agents = flagds(wiring, { events, sources, extensions });
  const proxy = deployedProxy(wiring, { events, use, security, owner, extensions, injections });
  const webhooks = admissionPort(wiring, { lookup, levelOfNamespace, certificates, calls, extensions });
  const readiness = new OperatorReadiness(
    [
      { what: () => "the certificate of the webhooks", isMet: webhooks.hasCertificate },
      { what: () => "the key of the webhooks", isMet: () => calls.keys.lastItems.length > 0 },
      { what: () => `the ${injections.unread().join(", ")}`, isMet: () => injections.unread().length === 0 },
    ],
    () => unread.remarks(),
  );
  const components: Component[] = [
    ...managementPorts(wiring, { readiness, registry }),
    runnableComponent(cluster.connections, "outlive all that ask the API server"),
    runnableComponent(events, "are written until nothing can happen any more"),
    ...[calls.keys, ...certificates.runnables].map((each) =>
      runnableComponent(each, "are there before the first call of a webhook, and until after the last"),
    ),
    injections.everywhere,
    ...extensions.everywhere,
    webhooks.component,
    runnableComponent(
      leadership(wiring, {
        events,
        ownUid: async (signal) => (await owner(signal))?.uid,
        onOther: calls.otherSeen,
        work: {
          own: calls.own,
          shared: () =>
            [
              calls.alone,
              extensions.leading,
              injections.leading,
              pods,
              restarts,
              upgrades,
              inline,
              checks,
              agents,
              proxy,
              security.leading,
              counted.leading,
            ].flatMap((make) => make()),
        },
      }),
      "is the last to start, because everything has to be there for the leader, and the first to stop, so that another replica leads at once",
    ),
  ];
  return {
    run: (signal) => {
      signal.addEventListener("abort", () => readiness.stopping(), { once: true });
      return parts.runComponents(components, signal, { stopTimeoutMs });
    },
  };
}

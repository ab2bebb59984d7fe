import { flagsOfSource } from "@bunting/featureflags/checks";
import type { KubeObject } from "@bunting/kube";
import { isJsonObject, type JsonValue } from "@bunting/protocol";
import { explainFacts } from "../operator/explain/explain-facts.js";
import { readPodFacts } from "../operator/explain/read-pod-facts.js";
import { check, type Check, type CheckPhase } from "./check.js";
import { foundOr } from "./not-checked-error.js";
import type { OperatedBy } from "./operated-by.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import { judgeAdmission } from "./judge/judge-admission.js";
import { judgeDefinitions, usedDefinitions, type DefinitionsFacts } from "./judge/judge-definitions.js";
import { judgeOperators, judgeVersions } from "./judge/judge-operators.js";
import { judgeProxyImages } from "./judge/judge-proxy-images.js";
import { judgePods, type PodsFacts } from "./judge/judge-pods.js";
import { judgeProxies, judgeSync, type ProxiesFacts, type SyncFacts } from "./judge/judge-proxies.js";
import { judgeRights, ofStockChart } from "./judge/judge-rights.js";
import { judgeCertificates, judgeSecuredPods, judgeSecurity } from "./judge/judge-security.js";
import { judgeSources } from "./judge/judge-sources.js";
import { judgeTopics } from "./judge/judge-topics.js";
import { judgeUnserved } from "./judge/judge-unserved.js";
import { judgeVersion } from "./judge/judge-version.js";
import { probeSync } from "./proxy/probe-sync.js";
import { readAdmission } from "./read-admission.js";
import { readInstallerRights, readProxyRights, readServiceRights } from "./read-rights.js";
import { readCertificates, readSecuredPods } from "./read-security.js";
import { readProxyImages } from "./read-proxy-images.js";
import { readUnserved } from "./read-unserved.js";

/** Limit of groups of Pods that are explained: each takes some questions to the API server. */
const mostExplained = 50;

/** All checks, in the order in which they are shown. */
export const checks: readonly Check[] = [
  check({
    group: "cluster",
    title: "the version of the API server is supported",
    phases: ["pre", "installed"],
    operatedBy: ["bunting", "stock"],
    read: (survey) => survey.version(),
    judge: judgeVersion,
  }),
  check({
    group: "definitions",
    title: "nothing stands in the way of the resource types",
    phases: ["pre"],
    read: (survey) => readDefinitions(survey, "pre"),
    judge: judgeDefinitions,
  }),
  check({
    group: "definitions",
    title: "the resource types are installed, and are of this version",
    operatedBy: ["bunting"],
    read: (survey) => readDefinitions(survey, "installed"),
    judge: judgeDefinitions,
  }),
  check({
    group: "definitions",
    title: "the resource types are installed that proxies and sidecars use",
    operatedBy: ["stock", "nobody"],
    read: (survey) => readDefinitions(survey, "installed"),
    judge: judgeDefinitions,
  }),
  check({
    group: "rights",
    title: "you may make what the chart makes, and grant what it grants",
    phases: ["pre"],
    read: readInstallerRights,
    judge: judgeRights,
  }),
  check({
    group: "rights",
    title: "the operator and the proxy may do what they do",
    operatedBy: ["bunting"],
    read: readServiceRights,
    judge: judgeRights,
  }),
  check({
    group: "rights",
    title: "the proxy of the open-feature-operator may read FeatureFlags",
    operatedBy: ["stock"],
    read: readProxyRights,
    judge: (rights) => judgeRights(rights, ofStockChart),
  }),
  check({
    group: "admission",
    title: "the API server can put sidecars in by itself",
    phases: ["pre"],
    read: (survey) => readAdmission(survey, "pre"),
    judge: judgeAdmission,
  }),
  check({
    group: "admission",
    title: "Pods are given their sidecars",
    operatedBy: ["bunting", "stock"],
    read: (survey) => readAdmission(survey, "installed"),
    judge: judgeAdmission,
  }),
  check({
    group: "operator",
    title: "no other operator is there",
    phases: ["pre"],
    read: async (survey) => ({ phase: "pre" as const, operators: await survey.operators() }),
    judge: judgeOperators,
  }),
  check({
    group: "operator",
    title: "one operator runs, and is ready",
    operatedBy: ["bunting", "stock"],
    read: async (survey) => ({ phase: "installed" as const, operators: await survey.operators() }),
    judge: judgeOperators,
  }),
  check({
    group: "operator",
    title: "operator, proxies and sidecars are of one version",
    operatedBy: ["bunting"],
    read: async (survey) => ({
      operators: await survey.operators(),
      proxies: (await statuses(survey)).map(({ name, status }) => ({ name, version: status.version })),
      sidecars: (await survey.pods()).images,
    }),
    judge: judgeVersions,
  }),
  check({
    group: "operator",
    title: "the proxy of the open-feature-operator has the image that the operator names",
    operatedBy: ["stock"],
    read: readProxyImages,
    judge: judgeProxyImages,
  }),
  check({
    group: "proxy",
    title: "proxies run, and are ready",
    read: readProxies,
    judge: judgeProxies,
  }),
  check({
    group: "proxy",
    title: "proxies serve flags on their sync ports, with TLS and the token as they were named",
    read: async (survey) => ({ probed: await probeAll(survey), namespace: survey.options.namespace }),
    judge: ({ probed, namespace }) => judgeSync(probed, namespace),
  }),
  check({
    group: "security",
    title: "the proxy is secured as the operator is to have it",
    operatedBy: ["bunting"],
    read: (survey) => survey.security(),
    judge: judgeSecurity,
  }),
  check({
    group: "security",
    title: "the proxy's certificate, and the authority that it is from, last",
    operatedBy: ["bunting"],
    read: readCertificates,
    judge: (certificates) => judgeCertificates(certificates, Date.now()),
  }),
  check({
    group: "security",
    title: "Pods ask the proxy as it serves, and can verify it",
    operatedBy: ["bunting"],
    read: readSecuredPods,
    judge: judgeSecuredPods,
  }),
  check({
    group: "sources",
    title: "FeatureFlagSources name what exists",
    read: async (survey) => ({ sources: await survey.sources(), flags: await survey.flags() }),
    judge: judgeSources,
  }),
  check({
    group: "pods",
    title: "Pods that ask for flags have a sidecar that runs",
    read: readPods,
    judge: judgePods,
  }),
  check({
    group: "pods",
    title: "sidecars that run have a proxy that they ask",
    read: readUnserved,
    judge: judgeUnserved,
  }),
  check({
    group: "topics",
    title: "flags are accepted, current, and arrive",
    read: async (survey) => ({ proxies: await survey.proxies(), flags: await survey.flags() }),
    judge: judgeTopics,
  }),
];

async function readDefinitions(survey: ClusterSurvey, phase: CheckPhase): Promise<DefinitionsFacts> {
  const { reader } = survey;
  const operatedBy = phase === "pre" ? "bunting" : await survey.operatedBy();
  const type = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
  const found = await Promise.all(
    usedDefinitions[operatedBy].map(async (name) => {
      const answer = await reader.find({ type, name });
      return {
        name,
        object: foundOr<KubeObject | undefined>(answer, `CustomResourceDefinition ${name}`, undefined),
      };
    }),
  );
  return { phase, operatedBy, found };
}

async function readProxies(survey: ClusterSurvey): Promise<ProxiesFacts> {
  const { namespace, proxy } = survey.options;
  const operatedBy = await survey.operatedBy();
  return {
    proxies: await survey.proxies(),
    neededBy: needy(await survey.sources(), operatedBy) ?? (await survey.pods()).asker,
    namespace: proxy === "" ? namespace : undefined,
    operatedBy,
    operators: (await survey.operators())
      .filter(({ isStock }) => operatedBy === "stock" || !isStock)
      .map((one) => one.namespace),
  };
}

/** Of the proxies that answer; why others do not is a finding of its own. */
async function statuses(survey: ClusterSurvey) {
  return (await survey.proxies()).flatMap(({ name, answer }) =>
    answer.kind === "status" ? [{ name, status: answer.status }] : [],
  );
}

async function probeAll(survey: ClusterSurvey): Promise<readonly SyncFacts[]> {
  const { timeout, namespace } = survey.options;
  const [some = `${namespace}/bunting-check`] = (await survey.flags()).keys();
  const probed = (await survey.proxies()).map(async ({ name, answer, sync }): Promise<SyncFacts> => {
    // One that the proxy serves: it says nothing of those that it may not read. Else one that exists: a topic that nobody reads would be watched for a moment.
    const { topics } = answer.kind === "status" ? answer.status : { topics: [] };
    const topic = topics.find(({ newest }) => newest !== undefined)?.topic ?? some;
    const outcome = sync && (await probeSync(sync, topic, timeout, survey.reader.signal));
    const { tls, tokenFile } = sync?.server ?? {};
    return { where: `proxy ${name}`, outcome, hasTls: tls !== undefined, hasToken: tokenFile !== undefined };
  });
  return Promise.all(probed);
}

async function readPods(survey: ClusterSurvey): Promise<PodsFacts> {
  const { without, unwell } = await survey.pods();
  // Only our operator marks Pods with the reason, and keeps what it has compiled for them.
  if ((await survey.operatedBy()) === "stock")
    return { explained: without.map((group) => ({ group })), unwell };
  const explained = without.slice(0, mostExplained).map(async (group) => {
    const { namespace, pod } = group;
    const address = { namespace, name: pod.metadata?.name ?? "" };
    const facts = await readPodFacts({ address, pod, isTemplate: false }, survey.reader);
    return { group, explanation: explainFacts(facts) };
  });
  return { explained: await Promise.all(explained), unwell };
}

/** A FeatureFlagSource whose flags come from the proxy. Sidecars of the open-feature-operator read those of the provider kubernetes themselves. */
function needy(sources: readonly KubeObject[], operatedBy: OperatedBy): string | undefined {
  const found = sources.find(({ spec, metadata }) => {
    const given = spec as JsonValue;
    if (!isJsonObject(given)) return false;
    const flags = flagsOfSource(given, metadata.namespace ?? "");
    return flags.some(({ provider }) => operatedBy !== "stock" || provider === "flagd-proxy");
  });
  return found && `FeatureFlagSource ${found.metadata.namespace ?? ""}/${found.metadata.name}`;
}

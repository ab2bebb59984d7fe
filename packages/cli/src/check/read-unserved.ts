import { askSidecar } from "../operator/ask-sidecar.js";
import { sidecarOf, type ShownPod } from "../operator/shown-pod.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { UnservedFacts, UnservedPod } from "./judge/judge-unserved.js";

/** Each is a connection to the API server, and waits for seconds for a sidecar that does not answer. */
const mostAtATime = 20;

/**
 * Compares, for each FeatureFlag, the sidecars that are to have it from a proxy with the subscribers that proxies have. Only where some are missing
 * are sidecars asked, since each takes a port-forward: a rollout explains what they deny. Without the status of every proxy nothing is known,
 * which is a finding of another check.
 */
export async function readUnserved(survey: ClusterSurvey): Promise<UnservedFacts> {
  const proxies = await survey.proxies();
  const subscribers = new Map<string, number>();
  for (const { answer } of proxies) {
    if (answer.kind !== "status") return { topics: [] };
    for (const { topic = "", subscribers: count = 0 } of answer.status.topics)
      subscribers.set(topic, (subscribers.get(topic) ?? 0) + count);
  }
  const { readers } = await survey.pods();
  const topics = [...readers].flatMap(([topic, { count, pods }]) => {
    const served = subscribers.get(topic) ?? 0;
    return served < count ? [{ topic, wanted: count, served, pods }] : [];
  });
  const asked = await askedPods(new Set(topics.flatMap(({ pods }) => pods)), survey);
  return {
    topics: topics.map(({ pods, ...topic }) => ({
      ...topic,
      asked: pods.flatMap((pod) => asked.get(pod) ?? []),
    })),
  };
}

/** Answers of the sidecars of these Pods: each is asked once, and few at a time. */
async function askedPods(
  pods: Iterable<ShownPod>,
  survey: ClusterSurvey,
): Promise<ReadonlyMap<ShownPod, UnservedPod>> {
  const asked = new Map<ShownPod, UnservedPod>();
  const rest = pods[Symbol.iterator]();
  // Not forEachInSlices, whose next ones wait for the slowest of those before.
  const askOn = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next())
      asked.set(next.value, await askedPod(next.value, survey));
  };
  await Promise.all(Array.from({ length: mostAtATime }, askOn));
  return asked;
}

async function askedPod(pod: ShownPod, { reader }: ClusterSurvey): Promise<UnservedPod> {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  const sidecar = sidecarOf(pod) ?? { name: "" };
  return { namespace, name, account: await askSidecar({ namespace, name }, sidecar, reader) };
}

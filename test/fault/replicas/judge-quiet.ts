import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { eventually } from "../../support/event-queue.js";
import type { FaultyApiServer } from "../../support/faulty-api-server/index.js";
import type { ModelReplica } from "./model-replica.js";

/** Replicas whose faults are over, and how to do one thing at a time to them. */
export interface Quiet {
  readonly topics: readonly string[];
  readonly api: FaultyApiServer;
  readonly replicas: readonly ModelReplica[];
  /** For how long replicas may go on to watch for themselves. */
  readonly healMs: number;
  readonly note: (what: string) => void;
  readonly edit: (topic: string) => void;
  readonly delete: (topic: string) => void;
  /** Restores etcd from a backup that lacks the last edits, and waits until all have what is in it. */
  readonly restore: () => Promise<void>;
  readonly killRedis: () => Promise<void>;
  /** Waits until every agent has the last version of its topic. */
  readonly haveLast: () => Promise<void>;
}

/** Replicas compare versions with Redis every 11 to 15 s: what comes sooner was announced. */
const announcedMs = 2_000;

/**
 * What the random part can't tell, because something else always happens that mends it: that replicas share, that an edit does not wait until
 * versions are compared, that deletions travel, that all agree on what comes after a restore of etcd, that the loss of Redis alone costs nobody
 * an edit, and that what can't be known is stale.
 */
export async function judgeQuiet(quiet: Quiet): Promise<void> {
  await share(quiet);
  await announce(quiet);
  await tellDeletions(quiet);
  quiet.note("restore etcd, while nothing else happens");
  await quiet.restore();
  await share(quiet);
  await doWithoutRedis(quiet);
}

/** One lease for each namespace, one watch for each topic, nobody watches for himself, and nothing is stale. */
async function share({ topics, api, replicas, healMs }: Quiet): Promise<void> {
  const units = new Set(topics.map((topic) => topic.split("/")[0])).size;
  const expected = `${topics.join()}; ${units} leases, 0 direct, 0 stale`;
  let seen = "";
  const isSo = async (): Promise<boolean> => {
    // Each look asks all replicas.
    await delay(50);
    const sum = async (series: string): Promise<number> =>
      (await Promise.all(replicas.map((replica) => replica.metric(series)))).reduce((a, b) => a + b);
    const [leases, direct, stale] = [
      await sum("bunting_proxy_backplane_owned_units"),
      await sum('bunting_proxy_backplane_topics{role="direct"}'),
      await sum('bunting_proxy_topic_topics{state="stale"}'),
    ];
    const watched = api.watches().map(({ scope }) => scope);
    seen = `${watched.sort().join()}; ${leases} leases, ${direct} direct, ${stale} stale`;
    return seen === expected;
  };
  await eventually(isSo, `a lease for each namespace and one watch for each: ${expected}`, healMs).catch(
    (error: unknown) => {
      const watches = api.watches().map(({ scope, request }) => `${scope} by ${request.token ?? ""}`);
      throw new Error(`${(error as Error).message}, but ${seen} (${watches.join()})`);
    },
  );
}

/** An owner that writes an edit announces it: who follows does not wait until versions are compared. */
async function announce({ topics, edit, note, haveLast }: Quiet): Promise<void> {
  note("edit each, which is announced");
  const tookMs: number[] = [];
  // A machine that is busy may be late once; who only compares is late each time.
  do {
    const startedMs = performance.now();
    for (const topic of topics) edit(topic);
    await haveLast();
    tookMs.push(Math.round(performance.now() - startedMs));
  } while (Math.min(...tookMs) > announcedMs && tookMs.length < 4);
  expect(Math.min(...tookMs), `all had edits after ${tookMs.join()} ms`).to.be.below(announcedMs);
}

/** Nobody keeps what was deleted. */
async function tellDeletions({ topics, edit, delete: remove, note, haveLast }: Quiet): Promise<void> {
  note("delete each");
  for (const topic of topics) remove(topic);
  await haveLast();
  note("create each again");
  for (const topic of topics) edit(topic);
  await haveLast();
}

/** Without Redis all watch for themselves. Without the API server too, all say that they can't know. */
async function doWithoutRedis({
  topics,
  api,
  replicas,
  edit,
  killRedis,
  note,
  haveLast,
}: Quiet): Promise<void> {
  const topicsThatAre = async (state: string): Promise<number[]> =>
    Promise.all(replicas.map((replica) => replica.metric(`bunting_proxy_topic_topics{state="${state}"}`)));
  note("kill Redis, for good");
  await killRedis();
  for (const topic of topics) edit(topic);
  await haveLast();
  note("stop the API server");
  await api.stop();
  await eventually(
    async () => (await topicsThatAre("live")).every((live) => live === 0),
    "no topic that passes for current although nobody can read it",
  );
  note("continue the API server");
  await api.resume();
  for (const topic of topics) edit(topic);
  await haveLast();
  await eventually(
    async () => (await topicsThatAre("stale")).every((stale) => stale === 0),
    "no topic that passes for stale although it can be read",
  );
}

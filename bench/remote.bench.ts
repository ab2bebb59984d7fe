import { setTimeout as delay } from "node:timers/promises";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { document, HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { startProxyWithAccount } from "./support/account-proxy.js";
import { SyncClients } from "@bunting/test/support/sync-clients.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { digits, percent } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { busyShare, cpuTime, machineTime, processMemory, unpinSelf } from "./support/processor.js";

/** What the remotes are, and what each is asked per interval. */
const kinds = ["none", "unchanged", "whole"] as const;
type Kind = (typeof kinds)[number];

const words: Readonly<Record<Kind, string>> = {
  none: "no remote",
  unchanged: "a remote that says that nothing has changed (304)",
  whole: "a remote that sends the same 10 KB each time",
};
const flagsOfRemote = 50;

export const remoteCase: BenchCase = {
  name: "remote",
  method:
    "The shipped proxy, as its image starts it, on an API server that is played by this process, as the remotes are. Each FeatureFlag has flags of its own, a subscriber, and a remote over HTTP with 50 flags, 10 KB, that is asked each 60 s. " +
    "Nothing is edited. What counts is the processor time of the proxy, all its threads included, and its memory at the end of the time.",
  run: runRemote,
};

interface Cost {
  readonly processorMsPerMinute: number;
  readonly rssMb: number;
  readonly questionsPerMinute: number;
}

async function runRemote({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const remotes = countParameter(parameters, "remotes", isQuick ? 5 : 100);
  const seconds = countParameter(parameters, "seconds", isQuick ? 5 : 120);
  unpinSelf();
  const before = machineTime();
  const costs = {} as Record<Kind, Cost>;
  for (const kind of kinds) {
    progress(`${remotes} FeatureFlags with ${words[kind]}, for ${seconds} s`);
    costs[kind] = await costOf(kind, remotes, seconds);
  }
  return outcome({ remotes, seconds, costs, busy: busyShare(before, machineTime()) });
}

async function costOf(kind: Kind, remotes: number, seconds: number): Promise<Cost> {
  const api = await FaultyApiServer.start();
  const server = new HttpServer();
  await server.start();
  let questions = 0;
  const answer = answerOf(kind);
  server.answer = (request, response) => {
    questions++;
    answer(request, response);
  };
  const topics = Array.from({ length: remotes }, (_, index) => {
    api.put("shop", `flags-${index}`, specOf(kind === "none" ? undefined : `${server.origin}/${index}`));
    return `shop/flags-${index}`;
  });
  const proxy = await startProxyWithAccount(api, [
    `--remote-hosts=http://127.0.0.1:${server.port}=127.0.0.1`,
  ]);
  const clients = new SyncClients({ count: remotes, target: proxy.sync, selector: topics, flag: "version" });
  try {
    await eventually(
      async () => (await clients.report()).every(({ last }) => last === 1),
      "all have the flags",
      60_000,
    );
    await eventually(() => kind === "none" || questions >= remotes, "each remote was asked", 60_000);
    await delay(2_000);
    questions = 0;
    const busyMs = cpuTime(proxy.pid).busyMs;
    await delay(seconds * 1_000);
    const perMinute = 60 / seconds;
    return {
      processorMsPerMinute: (cpuTime(proxy.pid).busyMs - busyMs) * perMinute,
      rssMb: processMemory(proxy.pid).rssMb,
      questionsPerMinute: questions * perMinute,
    };
  } finally {
    clients.kill();
    await proxy.stop();
    await server.stop();
    await api.close();
  }
}

function answerOf(kind: Kind): Answer {
  const text = JSON.stringify({ flags: flagsOf("remote", flagsOfRemote) });
  return kind === "unchanged" ? document(text) : (_request, response) => void response.end(text);
}

function specOf(uri: string | undefined): object {
  const flagSpec = { flags: { ...flagsOf("own", 1), version: flagOf(1) } };
  return uri === undefined ? { flagSpec } : { flagSpec, remoteFlagProvider: { type: "http", uri } };
}

function flagsOf(side: string, count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${side}-${index}`, flagOf(index)]));
}

function flagOf(v: number): object {
  const targeting = { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "v", "other"] };
  return { state: "ENABLED", variants: { v, other: -1 }, defaultVariant: "v", targeting };
}

interface Measured {
  readonly remotes: number;
  readonly seconds: number;
  readonly costs: Readonly<Record<Kind, Cost>>;
  /** Share of the machine that was busy. */
  readonly busy: number;
}

function outcome({ remotes, seconds, costs, busy }: Measured): CaseOutcome {
  const more = (of: (cost: Cost) => number): number => of(costs.whole) - of(costs.none);
  return {
    setup: [
      `${remotes} FeatureFlags, ${seconds} s each`,
      "nothing pinned",
      `the cores were ${percent(busy)} busy`,
    ],
    tables: [
      {
        title: `The proxy at rest, with ${remotes} FeatureFlags`,
        columns: ["each has", "questions a minute", "processor: ms a minute", "RSS: MB"],
        rows: kinds.map((kind) => [
          words[kind],
          digits(costs[kind].questionsPerMinute),
          digits(costs[kind].processorMsPerMinute),
          digits(costs[kind].rssMb),
        ]),
      },
    ],
    targets: [
      {
        what: `what ${remotes} remotes add to the processor time`,
        limit: 1_000,
        measured: more(({ processorMsPerMinute }) => processorMsPerMinute),
        unit: "ms a minute",
      },
      {
        what: `what ${remotes} remotes add to the RSS`,
        limit: 32,
        measured: more(({ rssMb }) => rssMb),
        unit: "MB",
      },
    ],
    warnings:
      busy > 0.5 ? ["other work kept the machine busy: processor times are longer than on a quiet one"] : [],
    invalid: [],
    samples: { costs, busy },
  };
}

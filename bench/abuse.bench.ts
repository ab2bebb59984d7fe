import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "@bunting/test/cluster/support/cluster.js";
import type { ServiceAccount } from "@bunting/test/cluster/support/service-account.js";
import type { AttackersHandlers, AttackCount, Attacker } from "./abuse/attackers.child.js";
import { attackNames } from "./abuse/attacks.js";
import { Edits, type Phase } from "./abuse/edits.js";
import type { FollowersHandlers } from "./abuse/followers.child.js";
import { ProxyCounters } from "./abuse/proxy-counters.js";
import { firstSequence, sequencedDocument } from "./fixtures/sequenced-document.js";
import { openBareWatch } from "./support/bare-watch.js";
import type { BenchCase, CaseOutcome, ResultTable, RunOptions } from "./support/bench-case.js";
import { proxyBinary } from "./support/binaries.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { ClusterProxy, machineryFolder } from "./support/cluster-proxy.js";
import { digits, percent } from "./support/format.js";
import { monotonicMs } from "./support/monotonic.js";
import { countParameter } from "./support/parameters.js";
import { cpuTime, processMemory, resetPeakMemory } from "./support/processor.js";
import { percentile } from "./support/statistics.js";

const namespace = "bench";
const name = "flags";
const largeName = "large";
const documentBytes = 10_000;
const largeBytes = 500_000;
const editEveryMs = 500;
const attackerProcesses = 2;
const maxWaitedShare = 0.1;
const phases: readonly Phase[] = ["calm", "attack", "after"];
const phaseNames = { calm: "before the attack", attack: "under attack", after: "afterwards" };

export const abuseCase: BenchCase = {
  name: "abuse",
  method:
    "The shipped proxy with default options, in the pod of a ServiceAccount of a real kube-apiserver. 1,000 healthy subscribers, half of flagd.sync.v1 and half of bunting.sync.v1, each on a connection of its own, " +
    "follow a FeatureFlag of 10 KB that is edited every 500 ms. Then 50 hostile connections attack for a minute, each in one of the ways of the last table, as fast as the proxy lets it; each reconnects 50 ms after it was dropped. Half of them have an address of their own, " +
    "half share one. The time of an edit runs from just before its write is sent to the API server until a subscriber has this version or a newer one. " +
    "The proxy starts as in its image, with jemalloc if it is installed. Memory is the RSS; idle is just before the attack, with the 1,000 subscribers. Subscribers, API server and etcd share their core with the attackers, which have a lower priority (nice 10), so the times include some competition for it.",
  run: runAbuse,
};

interface Sizes {
  readonly subscribers: number;
  readonly attackers: number;
  readonly seconds: Readonly<Record<Phase, number>>;
}

interface Measured {
  readonly sizes: Sizes;
  /** Of all healthy subscribers, by phase, sorted: ms from an edit until it has this version or a newer one. */
  readonly lagsMs: Readonly<Record<Phase, readonly number[]>>;
  /** Edits that a healthy subscriber never had, nor a newer one. */
  readonly missing: number;
  readonly lost: number;
  readonly lostReason: string | undefined;
  readonly edits: Edits["list"];
  readonly rssMb: Readonly<Record<Phase, number>>;
  readonly peakRssMb: number;
  readonly proxyBusyShare: Readonly<Record<Phase, number>>;
  /** The share of the time in which the proxy's main thread was ready to run but other processes used its core. */
  readonly proxyWaitedShare: Readonly<Record<Phase, number>>;
  readonly requests: Readonly<Record<Phase, Readonly<Record<string, number>>>>;
  readonly attacks: Readonly<Record<string, AttackCount>>;
  readonly counters: readonly (readonly [name: string, growth: number])[];
  readonly logBytes: number;
  readonly errorLines: number;
  readonly isAlive: boolean;
}

async function runAbuse({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const attackSeconds = countParameter(parameters, "seconds", isQuick ? 10 : 60);
  const sizes: Sizes = {
    subscribers: countParameter(parameters, "subscribers", isQuick ? 100 : 1_000),
    attackers: countParameter(parameters, "attackers", 50),
    seconds: {
      calm: countParameter(parameters, "before", isQuick ? 3 : 15),
      attack: attackSeconds,
      after: countParameter(parameters, "after", isQuick ? 5 : 60),
    },
  };
  process.env["BUNTING_CLUSTER_BIN"] ??= machineryFolder();
  progress("starts a control plane");
  const cluster = await Cluster.start();
  try {
    await cluster.createNamespace(namespace);
    const account = await cluster.createServiceAccountToken(namespace, "proxy");
    await cluster.grantStockRole(account);
    const created = await put(cluster, firstSequence);
    const large = sequencedDocument({ sequence: firstSequence, bytes: largeBytes });
    await cluster.putFeatureFlag(namespace, largeName, large);
    const uid = (created.metadata as { uid: string }).uid;
    const proxy = await ClusterProxy.start(proxyBinary(), account, cores.measured);
    try {
      const only = parameters.get("attack") ?? "";
      const measured = await measure({ cluster, account, proxy, uid, sizes, only, progress });
      return outcome(measured, cores.description);
    } finally {
      await proxy.stop();
    }
  } finally {
    await cluster.stop();
  }
}

function put(cluster: Cluster, sequence: number): ReturnType<Cluster["putFeatureFlag"]> {
  return cluster.putFeatureFlag(namespace, name, sequencedDocument({ sequence, bytes: documentBytes }));
}

interface MeasureInput {
  readonly cluster: Cluster;
  readonly account: ServiceAccount;
  readonly proxy: ClusterProxy;
  readonly uid: string;
  readonly sizes: Sizes;
  /** Only the attacks whose name contains this. */
  readonly only: string;
  readonly progress: (line: string) => void;
}

async function measure(input: MeasureInput): Promise<Measured> {
  const { cluster, account, proxy, uid, sizes, only, progress } = input;
  const abort = new AbortController();
  const children: ChildProcess[] = [];
  const edits = new Edits((index) => put(cluster, firstSequence + 1 + index), editEveryMs);
  try {
    const followers = await startFollowers(proxy.port, sizes.subscribers, children);
    const attackers = await startAttackers(sizes.attackers, only, children);
    const watch = await openBareWatch({
      kubeconfig: cluster.kubeconfig,
      namespace,
      name,
      signal: abort.signal,
      onSequence: (sequence) => edits.noteWatched(sequence - firstSequence - 1),
    });
    const counters = await ProxyCounters.read(proxy.managementPort);
    const editing = edits.run(abort.signal);
    const rssMb = { calm: NaN, attack: NaN, after: NaN };
    const proxyBusyShare = { calm: NaN, attack: NaN, after: NaN };
    const proxyWaitedShare = { calm: NaN, attack: NaN, after: NaN };
    const requests = { calm: {}, attack: {}, after: {} };
    let peakRssMb = NaN;
    let attackCounts: Record<string, AttackCount> = {};
    let growth: Measured["counters"] = [];
    for (const phase of phases) {
      edits.phase = phase;
      const before = { requests: cluster.requests(account).length, cpu: cpuTime(proxy.pid) };
      progress(`${phaseNames[phase]}: ${sizes.seconds[phase]} s`);
      if (phase === "attack") {
        resetPeakMemory(proxy.pid);
        const target = {
          port: proxy.port,
          managementPort: proxy.managementPort,
          topic: `${namespace}/${name}`,
          largeTopic: `${namespace}/${largeName}`,
          uid,
        };
        await Promise.all(attackers.map(({ child, own }) => child.call("start", { target, attackers: own })));
      }
      await untilOver(proxy, sizes.seconds[phase] * 1_000, (line) => progress(line));
      requests[phase] = countVerbs(cluster.requests(account).slice(before.requests));
      if (proxy.hasEnded()) break;
      if (phase === "attack") {
        peakRssMb = processMemory(proxy.pid).peakRssMb;
        attackCounts = await stopAttackers(attackers);
      }
      rssMb[phase] = processMemory(proxy.pid).rssMb;
      const { busyMs, waitedMs } = cpuTime(proxy.pid);
      proxyBusyShare[phase] = (busyMs - before.cpu.busyMs) / (sizes.seconds[phase] * 1_000);
      proxyWaitedShare[phase] = (waitedMs - before.cpu.waitedMs) / (sizes.seconds[phase] * 1_000);
      if (phase === "after") growth = (await ProxyCounters.read(proxy.managementPort)).since(counters);
    }
    watch.destroy();
    abort.abort();
    await editing;
    // The last edits are on their way.
    await delay(2_000);
    const followed = await Promise.all(followers.map((each) => each.call("followed", undefined)));
    return {
      sizes,
      ...lagsOf(edits, followed, sizes.subscribers),
      lost: followed.reduce((sum, each) => sum + each.lost, 0),
      lostReason: followed.find(({ reason }) => reason !== undefined)?.reason,
      edits: edits.list,
      rssMb,
      peakRssMb,
      proxyBusyShare,
      proxyWaitedShare,
      requests,
      attacks: attackCounts,
      counters: growth,
      logBytes: proxy.log.bytes,
      errorLines: proxy.log.errors,
      isAlive: !proxy.hasEnded(),
    };
  } finally {
    abort.abort();
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function startFollowers(
  port: number,
  count: number,
  children: ChildProcess[],
): Promise<ChildProcess<FollowersHandlers>[]> {
  const script = await bundle("abuse/followers.child.ts", "proxy");
  const protocols = ["flagd", "bunting"] as const;
  return Promise.all(
    protocols.map(async (protocol, index) => {
      const child = new ChildProcess<FollowersHandlers>({
        name: `subscribers of ${protocol}`,
        script,
        core: undefined,
      });
      children.push(child);
      const topic = `${namespace}/${name}`;
      const options = { port, protocol, topic, count: count / protocols.length, firstSequence };
      await child.call("connect", { ...options, subnet: 10 + index });
      return child;
    }),
  );
}

interface AttackerProcess {
  readonly child: ChildProcess<AttackersHandlers>;
  readonly own: readonly Attacker[];
}

async function startAttackers(
  count: number,
  only: string,
  children: ChildProcess[],
): Promise<AttackerProcess[]> {
  const script = await bundle("abuse/attackers.child.ts", "proxy");
  const names = attackNames.filter((name) => name.includes(only));
  const all = Array.from({ length: count }, (_, index): Attacker => {
    const attack = names[index % names.length] ?? "send garbage";
    return { attack, localAddress: index % 2 === 0 ? `127.0.20.${1 + index}` : "127.0.21.1" };
  });
  return Array.from({ length: attackerProcesses }, (_, index) => {
    const child = new ChildProcess<AttackersHandlers>({ name: "attackers", script, core: undefined });
    children.push(child);
    return { child, own: all.filter((_, each) => each % attackerProcesses === index) };
  });
}

async function stopAttackers(attackers: readonly AttackerProcess[]): Promise<Record<string, AttackCount>> {
  const sum: Record<string, AttackCount> = {};
  for (const { child } of attackers) {
    for (const [attack, count] of Object.entries(await child.call("counts", undefined))) {
      const all = (sum[attack] ??= { connections: 0, sentBytes: 0 });
      all.connections += count.connections;
      all.sentBytes += count.sentBytes;
    }
    await child.stop();
  }
  return sum;
}

/** Waits, and stops waiting when the proxy has died. */
async function untilOver(
  proxy: ClusterProxy,
  forMs: number,
  progress: (line: string) => void,
): Promise<void> {
  const until = performance.now() + forMs;
  for (let second = 1; performance.now() < until && !proxy.hasEnded(); second++) {
    await delay(Math.min(1_000, until - performance.now()));
    if (second % 10 === 0 && !proxy.hasEnded())
      progress(`after ${second} s: RSS ${digits(processMemory(proxy.pid).rssMb)} MB`);
  }
  if (proxy.hasEnded()) progress("the proxy has died");
}

function countVerbs(
  requests: readonly { readonly verb: string; readonly uri: string }[],
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, uri } of requests) {
    const what =
      verb === "create" ? "access reviews" : uri.includes("sendInitialEvents=true") ? "watch lists" : verb;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

function lagsOf(
  edits: Edits,
  followed: readonly { readonly arrivalsMs: readonly (readonly number[])[] }[],
  subscribers: number,
): Pick<Measured, "lagsMs" | "missing"> {
  const lagsMs: Record<Phase, number[]> = { calm: [], attack: [], after: [] };
  let missing = 0;
  // What a subscriber never had counts as late as can be said.
  const nowMs = monotonicMs();
  edits.list.forEach(({ phase, sentMs }, index) => {
    // Number 0 is the version that was there before the first edit.
    const arrivals = followed.flatMap((each) => each.arrivalsMs[index + 1] ?? []);
    for (const atMs of arrivals) lagsMs[phase].push(atMs - sentMs);
    missing += subscribers - arrivals.length;
    for (let each = arrivals.length; each < subscribers; each++) lagsMs[phase].push(nowMs - sentMs);
  });
  for (const lags of Object.values(lagsMs)) lags.sort((a, b) => a - b);
  return { lagsMs, missing };
}

function outcome(measured: Measured, cores: string): CaseOutcome {
  const { sizes, lagsMs, rssMb, peakRssMb, edits } = measured;
  return {
    setup: [
      `${sizes.subscribers.toLocaleString("en")} healthy subscribers, ${sizes.attackers} attackers for ${sizes.seconds.attack} s`,
      `${edits.length} edits`,
      cores,
    ],
    tables: [
      lagTable(measured),
      requestTable(measured),
      proxyTable(measured),
      attackTable(measured),
      counterTable(measured),
    ],
    targets: [
      { what: "deaths of the proxy", limit: 0, measured: measured.isAlive ? 0 : 1, unit: "" },
      { what: "RSS at its peak above idle", limit: 128, measured: peakRssMb - rssMb.calm, unit: "MB" },
      {
        what: `RSS ${sizes.seconds.after} s after the attack, in relation to idle`,
        limit: 1.2,
        measured: rssMb.after / rssMb.calm,
        unit: "×",
      },
      {
        what: "an edit under attack until a healthy subscriber has it: p99",
        limit: 1_000,
        measured: percentile(lagsMs.attack, 0.99),
        unit: "ms",
      },
      { what: "edits that a healthy subscriber never had", limit: 0, measured: measured.missing, unit: "" },
      { what: "healthy subscribers that lost their stream", limit: 0, measured: measured.lost, unit: "" },
      { what: "log lines of level error", limit: 0, measured: measured.errorLines, unit: "" },
    ],
    warnings: [
      ...(measured.lostReason === undefined
        ? []
        : [`the first healthy subscriber that lost its stream reported: ${measured.lostReason}`]),
      ...(measured.proxyWaitedShare.attack > maxWaitedShare
        ? [
            `under attack the proxy waited for its core for ${percent(measured.proxyWaitedShare.attack)} of the time: something else ran on it`,
          ]
        : []),
    ],
    invalid: [],
    samples: { ...measured, lagsMs: undefined },
  };
}

function lagTable({ lagsMs, edits }: Measured): ResultTable {
  const row = (what: string, values: readonly number[]): string[] => {
    const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
    return [what, ...[0.5, 0.9, 0.99, 1].map((share) => digits(percentile(sorted, share)))];
  };
  return {
    title: "From a write to the FeatureFlag being there",
    columns: ["where", "ms: p50", "p90", "p99", "longest"],
    rows: phases.flatMap((phase) => {
      const own = edits.filter((edit) => edit.phase === phase);
      return [
        row(
          `a bare watch, ${phaseNames[phase]}`,
          own.map(({ watchedMs, sentMs }) => watchedMs - sentMs),
        ),
        row(`healthy subscribers, ${phaseNames[phase]}`, lagsMs[phase]),
      ];
    }),
  };
}

function requestTable({ requests, sizes }: Measured): ResultTable {
  const verbs = [...new Set(phases.flatMap((phase) => Object.keys(requests[phase])))].sort();
  return {
    title: "Requests of the proxy to the API server",
    columns: ["a second", "in all", ...verbs],
    rows: phases.map((phase) => {
      const rate = (count: number): string => digits(count / sizes.seconds[phase]);
      const counts = verbs.map((verb) => requests[phase][verb] ?? 0);
      return [phaseNames[phase], rate(counts.reduce((sum, each) => sum + each, 0)), ...counts.map(rate)];
    }),
  };
}

function proxyTable({ rssMb, peakRssMb, proxyBusyShare, proxyWaitedShare, logBytes }: Measured): ResultTable {
  return {
    title: "The proxy",
    columns: ["", phaseNames.calm, phaseNames.attack, phaseNames.after],
    rows: [
      [
        "RSS at the end, MB",
        digits(rssMb.calm),
        `${digits(rssMb.attack)} (peak ${digits(peakRssMb)})`,
        digits(rssMb.after),
      ],
      [
        "busy, of a core",
        percent(proxyBusyShare.calm),
        percent(proxyBusyShare.attack),
        percent(proxyBusyShare.after),
      ],
      [
        "waited for its core",
        percent(proxyWaitedShare.calm),
        percent(proxyWaitedShare.attack),
        percent(proxyWaitedShare.after),
      ],
      ["logged in all, KB", "", "", digits(logBytes / 1000)],
    ],
  };
}

function attackTable({ attacks }: Measured): ResultTable {
  return {
    title: "The attacks",
    columns: ["what the attacker does", "connections", "MB sent"],
    rows: Object.entries(attacks).map(([attack, { connections, sentBytes }]) => [
      attack,
      String(connections),
      digits(sentBytes / 1e6),
    ]),
  };
}

function counterTable({ counters }: Measured): ResultTable {
  return {
    title: "What the proxy counted meanwhile",
    columns: ["metric", "growth"],
    rows: counters.map(([metric, growth]) => [`\`${metric}\``, String(growth)]),
  };
}

import { eventually } from "../support/event-queue.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { seededRandom } from "../support/seeded-random.js";
import { slopeOf, type Sample, type Slope } from "./slope.js";
import { mebibyte, SoakWorld, type AgentMember, type Member } from "./soak-world.js";
import { Visitors } from "./visitors.js";

/** The part of the run in which processes are restarted. A slope needs one that lives. */
const restartShare = 1 / 6;
/**
 * From when on memory is to be level: caches have filled, and V8 has compiled what it will. Until then, from the last restart on, edits, polls and visits
 * come as fast as they do in half a day otherwise: a process that is used once a second is compiled for as long, two megabytes of code,
 * which looks like a leak and is none (its heap has no more objects after the first 12,000 edits).
 */
const warmShare = 0.5;
/** Pauses between edits, in ms: at least this, and up to so much more. */
const pace = { usual: [300, 700], warming: [20, 20] } as const;
/** Edits between visits, and between faults. */
const visitEvery = { usual: 5, warming: 4 } as const;
const faultEvery = { usual: 20, warming: 500 } as const;
/** Milliseconds between polls. */
const pollEvery = { usual: 200, warming: 20 } as const;
/** A slope of a shorter run says more of garbage than of leaks. */
const leastMinutesForSlopes = 30;
const mostMegabytesAnHour = 1;
const sampleMs = 5_000;
/**
 * So often that half an hour has enough of them for a slope: with half as many its error is half as large again. Not more often, because compiled code is
 * collected, too, and has to be compiled again.
 */
const collectEveryMs = 60_000;
/** For the collections of all processes, on a busy machine. */
const collectMs = 3_000;

const gaugesOfAgents = [
  "feature_flag_flagd_sync_active_streams",
  "http_server_active_requests",
  "bunting_agent_api_long_requests_waiting",
  "bunting_agent_api_peer_memory_bytes",
];
const gaugesOfProxies = [
  "sync_active_streams",
  "bunting_proxy_subscriber_subscriptions",
  "bunting_proxy_subscriber_queued",
  "bunting_proxy_subscriber_held_back",
  "bunting_proxy_topic_held_subscribers",
  "bunting_proxy_service_calls_waiting",
  "bunting_proxy_service_connections",
  "bunting_proxy_service_peer_memory_bytes",
];

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly onLine: (line: string) => void;
}

/**
 * A proxy, a tier behind it and six agents in the limits of their images, under edits, restarts, frozen processes, and clients that come and go.
 * Returns what did not hold: an answer that was wrong, late or did not come, a process that was killed, a gauge that is not zero in the end,
 * memory that grows.
 */
export async function soak(options: SoakOptions): Promise<readonly string[]> {
  if (!MemoryCgroup.isAvailable) throw new Error("a soak needs memory cgroups of version 1, as root");
  const run = new SoakRun(options);
  try {
    await run.world.start();
    await run.steps();
    return await run.judge();
  } finally {
    await run.world.close();
  }
}

class SoakRun {
  readonly world: SoakWorld;
  readonly #options: SoakOptions;
  readonly #random: () => number;
  readonly #problems: string[] = [];
  readonly #visitors: Visitors;
  /** Processes that are stopped by SIGSTOP now, while all else goes on. */
  readonly #frozen = new Map<Member, Promise<void>>();
  readonly #faults: Record<string, number> = {};

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.world = new SoakWorld((problem) => this.#note(problem));
    this.#visitors = new Visitors(this.world, (problem) => this.#note(problem));
  }

  /** Edits until the time is over, with visitors, and now and then a fault. */
  async steps(): Promise<void> {
    const { minutes } = this.#options;
    const begunMs = performance.now();
    const passed = (): number => (performance.now() - begunMs) / 60_000 / minutes;
    let [nextSampleMs, nextLineMs, nextCollectMs] = [begunMs, begunMs + 60_000, begunMs + collectEveryMs];
    for (let step = 1; passed() < 1; step++) {
      this.world.documents.edit();
      const phase = passed() >= restartShare && passed() < warmShare ? "warming" : "usual";
      for (const { poller } of this.world.agents) poller.everyMs = pollEvery[phase];
      if (step % faultEvery[phase] === 0) await this.#fault(passed() < restartShare);
      if (step % visitEvery[phase] === 0) await this.#visits(5);
      const [leastMs, moreMs] = pace[phase];
      await pause(leastMs + moreMs * this.#random());
      const nowMs = performance.now();
      if (nowMs >= nextSampleMs) {
        nextSampleMs = nowMs + sampleMs;
        this.#sample(passed() * minutes);
      }
      if (nowMs >= nextCollectMs) {
        nextCollectMs = nowMs + collectEveryMs;
        await this.#collect(passed() * minutes);
      }
      if (nowMs < nextLineMs) continue;
      nextLineMs = nowMs + 60_000;
      const sizes = this.world.members.map(
        ({ name, samples }) => `${name} ${samples.at(-1)?.megabytes.toFixed(1)} MB`,
      );
      this.#options.onLine(`${(passed() * minutes).toFixed(0)} min, ${step} edits: ${sizes.join(", ")}`);
    }
    await Promise.all(this.#frozen.values());
  }

  /** Lets everyone go, and compares what is left with nothing. */
  async judge(): Promise<readonly string[]> {
    const { onLine } = this.#options;
    onLine(`faults: ${JSON.stringify(this.#faults)}`);
    for (const { poller, agent, name, judge, provider } of this.world.agents) {
      provider?.close();
      await poller.end();
      onLine(`${name}: ${judge.answers} answers, ${poller.failures} polls failed while it was away`);
      await this.#becomeZero(name, agent.management, gaugesOfAgents);
      await agent.process.stop();
    }
    for (const { name, management, process } of this.world.proxies.toReversed()) {
      await this.#becomeZero(name, management, gaugesOfProxies);
      await process.stop();
    }
    for (const member of this.world.members) this.#judgeMemory(member);
    return this.#problems;
  }

  #judgeMemory({ name, group, samples, floor, heap }: Member): void {
    const { minutes, onLine } = this.#options;
    if (group.kills > 0) this.#note(`${name}: was killed for want of memory, ${group.kills} times`);
    const whenWarm = (of: readonly Sample[]): Slope =>
      slopeOf(of.filter(({ minutes: at }) => at >= minutes * warmShare));
    const text = ({ megabytesAnHour, standardError }: Slope): string =>
      `${megabytesAnHour.toFixed(2)} ± ${standardError.toFixed(2)} MB an hour`;
    const { megabytesAnHour } = whenWarm(floor);
    const peak = Math.max(...samples.map(({ megabytes }) => megabytes));
    const grows = `${text(whenWarm(floor))}, in V8's heap by ${text(whenWarm(heap))}`;
    const withGarbage = whenWarm(samples).megabytesAnHour.toFixed(2);
    onLine(`${name}: peak ${peak.toFixed(1)} MB; after collections ${grows}; with garbage ${withGarbage}`);
    if (minutes >= leastMinutesForSlopes && megabytesAnHour > mostMegabytesAnHour)
      this.#note(`${name}: grows by ${grows}`);
  }

  #note(problem: string): void {
    this.#problems.push(problem);
    this.#options.onLine(`PROBLEM ${problem}`);
  }

  #sample(minutes: number): void {
    for (const { group, samples } of this.world.members)
      samples.push({ minutes, megabytes: group.anonymousBytes / mebibyte });
  }

  /** Of those that are not frozen. Edits wait meanwhile. */
  async #collect(minutes: number): Promise<void> {
    const { agents, proxies } = this.world;
    const running = [
      ...proxies.map((member) => ({ member, process: member.process })),
      ...agents.map((member) => ({ member, process: member.agent.process })),
    ];
    for (const { process } of running) process.child.kill("SIGUSR2");
    const awake = running.filter(({ member }) => !this.#frozen.has(member));
    await pause(collectMs);
    const sizes = awake.map(({ member: { name, group, floor, heap }, process }) => {
      const megabytes = group.anonymousBytes / mebibyte;
      floor.push({ minutes, megabytes });
      const collected = process.logs.findLast(({ msg }) => msg === "collected");
      const heapMegabytes = Number(collected?.["heapBytes"]) / mebibyte;
      heap.push({ minutes, megabytes: heapMegabytes });
      return `${name} ${megabytes.toFixed(1)} MB (heap ${heapMegabytes.toFixed(1)})`;
    });
    this.#options.onLine(`collected: ${sizes.join(", ")}`);
  }

  async #fault(mayRestart: boolean): Promise<void> {
    const { agents, proxies } = this.world;
    const kinds = ["freeze", "freeze", "freeze", "freeze a proxy", "crowd"];
    if (mayRestart) kinds.push("restart", "restart", "restart", "restart a proxy");
    const kind = this.#anyOf(kinds);
    const [agent, proxy] = [this.#anyOf(agents), this.#anyOf(proxies)];
    if (kind === undefined || agent === undefined || proxy === undefined) return;
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
    const signal = this.#random() < 0.5 ? "SIGTERM" : "SIGKILL";
    const victim = kind.endsWith("proxy") ? proxy : agent;
    await this.#frozen.get(victim);
    this.#options.onLine(`${kind}: ${victim.name}`);
    if (kind === "crowd") await this.#visits(40);
    else if (kind === "restart") await this.world.restartAgent(agent, signal);
    else if (kind === "restart a proxy") await this.world.restartProxy(proxy, signal);
    else if (kind === "freeze a proxy")
      this.#freeze(proxy, proxy.process.pid, 5_000 + 25_000 * this.#random());
    else this.#freeze(agent, agent.agent.process.pid, 5_000 + 55_000 * this.#random());
  }

  /** Everything else goes on meanwhile. */
  #freeze(member: Member, pid: number, forMs: number): void {
    member.way.isAway();
    process.kill(pid, "SIGSTOP");
    const thawed = pause(forMs).then(() => {
      process.kill(pid, "SIGCONT");
      member.way.isBack();
      this.#frozen.delete(member);
    });
    this.#frozen.set(member, thawed);
  }

  /** Clients of the tier, of the first proxy and of an agent. What is frozen gets none: it would hold the run up. */
  async #visits(count: number): Promise<void> {
    const awake = this.world.agents.filter((agent) => !this.#frozen.has(agent));
    const agent: AgentMember | undefined = this.#anyOf(awake);
    const proxies = this.world.proxies.filter((proxy) => !this.#frozen.has(proxy));
    await Promise.all([
      ...proxies.map((proxy) => this.#visitors.visitProxy(proxy, count)),
      agent === undefined ? undefined : this.#visitors.visitAgent(agent),
    ]);
  }

  #anyOf<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }

  /** Waits until no series of the metrics, whatever its labels, is above zero. */
  async #becomeZero(name: string, management: string, metrics: readonly string[]): Promise<void> {
    let left: readonly string[] = [];
    const areZero = async (): Promise<boolean> => {
      const text = await (await fetch(`${management}/metrics`)).text();
      for (const metric of metrics)
        if (!text.includes(`# TYPE ${metric} `)) throw new Error(`no metric ${metric}`);
      const isOne = (line: string): boolean =>
        metrics.some((metric) => line.startsWith(`${metric} `) || line.startsWith(`${metric}{`));
      left = text.split("\n").filter((line) => isOne(line) && !line.endsWith(" 0"));
      return left.length === 0;
    };
    await eventually(areZero, "gauges at zero", 60_000).catch((error: unknown) =>
      this.#note(`${name}: ${(error as Error).message}: ${left.join("; ")}`),
    );
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

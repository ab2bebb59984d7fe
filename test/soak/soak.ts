import { mkdirSync } from "node:fs";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { binaries, proxyImage, ServiceProcess } from "../support/service-process.js";
import { freePort } from "../support/free-port.js";
import { seededRandom } from "../support/seeded-random.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { AnswerPoller } from "./answer-poller.js";
import { InProcessProvider } from "./in-process-provider.js";
import { megabytesAnHour, type Sample } from "./slope.js";

const mebibyte = 1024 * 1024;
/** Limits of the containers in our chart. */
const limits = { proxy: 512 * mebibyte, agent: 64 * mebibyte };
/** The part of the run in which caches fill and V8 finds its size. */
const warmUpShare = 0.25;
/** A slope of a shorter run says more of garbage than of leaks. */
const leastMinutesForSlopes = 30;
const mostMegabytesAnHour = 1;
/** How long an edit may take to everyone who is not restarted or frozen then. */
const arrivalMs = 30_000;
const inProcessName = "large, in process";
const activeStreams = "feature_flag_flagd_sync_active_streams";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly onLine: (line: string) => void;
}

/** One program with the limit of its container. */
interface Member {
  readonly name: string;
  readonly group: MemoryCgroup;
  readonly samples: Sample[];
}

interface AgentMember extends Member {
  readonly args: readonly string[];
  agent: AgentProcess;
  poller: AnswerPoller;
}

/**
 * A proxy, a tier behind it and six agents in the limits of their images, under edits, restarts, frozen agents, and clients that come and go.
 * Returns what did not hold: an answer that went back or did not come, a process that was killed, a gauge that is not zero in the end,
 * memory that grows.
 */
export async function soak(options: SoakOptions): Promise<readonly string[]> {
  if (!MemoryCgroup.isAvailable) throw new Error("a soak needs memory cgroups of version 1, as root");
  const world = new SoakWorld(options, {
    root: await freePort(),
    rootManagement: await freePort(),
    tier: await freePort(),
    tierManagement: await freePort(),
  });
  try {
    await world.start();
    await world.run();
    return await world.judge();
  } finally {
    await world.close();
  }
}

interface ProxyPorts {
  readonly root: number;
  readonly rootManagement: number;
  readonly tier: number;
  readonly tierManagement: number;
}

class SoakWorld {
  readonly #options: SoakOptions;
  readonly #random: () => number;
  readonly #directory = new TempDirectory();
  readonly #cache = new TempDirectory();
  readonly #problems: string[] = [];
  readonly #agents: AgentMember[] = [];
  readonly #root: Member = member("proxy", limits.proxy);
  readonly #tier: Member = member("tier", limits.proxy);
  #rootProcess: ServiceProcess | undefined;
  #tierProcess: ServiceProcess | undefined;
  readonly #ports: ProxyPorts;
  #version = 0;
  #provider: InProcessProvider | undefined;

  constructor(options: SoakOptions, ports: ProxyPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#random = seededRandom(options.seed);
  }

  async start(): Promise<void> {
    this.#edit();
    this.#rootProcess = this.#startProxy(this.#root, `dir:${this.#directory.path}`, "root");
    await this.#rootProcess.nextLog("listening");
    this.#tierProcess = this.#startProxy(this.#tier, `upstream:127.0.0.1:${this.#ports.root}`, "tier");
    await this.#tierProcess.nextLog("listening");
    mkdirSync(this.#cache.file("flags"));
    const [tier, root] = [this.#ports.tier, this.#ports.root];
    await this.#startAgent("small", sources(tier, "small"));
    await this.#startAgent("large", sources(tier, "large"));
    await this.#startAgent(inProcessName, sources(tier, "large"));
    await this.#startAgent("both", sources(tier, "large", "small"));
    await this.#startAgent("with a cache", [
      ...sources(tier, "small"),
      "--cache-dir",
      this.#cache.file("flags"),
    ]);
    await this.#startAgent("of the first proxy", sources(root, "small"));
    for (const { poller } of this.#agents) poller.begin();
    for (const one of this.#agents) this.#syncFrom(one);
  }

  async #startAgent(name: string, args: readonly string[]): Promise<void> {
    const { group, samples } = member(name, limits.agent);
    const agent = await startAgent(args, { wrapper: group.wrapper });
    const poller = new AnswerPoller(agent.ofrep, (problem) => this.#note(`${name}: ${problem}`));
    this.#agents.push({ name, group, samples, args, agent, poller });
  }

  /** The provider in process that one of the agents has. */
  #syncFrom({ name, agent }: AgentMember): void {
    if (name !== inProcessName) return;
    this.#provider?.close();
    this.#provider = new InProcessProvider(agent.sync);
  }

  /** Steps until the time is over: mostly edits, now and then a fault. */
  async run(): Promise<void> {
    const { minutes, onLine } = this.#options;
    const begunMs = performance.now();
    const untilMs = begunMs + minutes * 60_000;
    let nextSampleMs = begunMs;
    let nextLineMs = begunMs + 60_000;
    for (let step = 1; performance.now() < untilMs; step++) {
      this.#edit();
      if (step % 20 === 0) await this.#fault();
      if (step % 10 === 0) await this.#arrival();
      if (step % 5 === 0) await this.#comeAndGo();
      await pause(300 + 700 * this.#random());
      const nowMs = performance.now();
      if (nowMs >= nextSampleMs) {
        nextSampleMs = nowMs + 5_000;
        this.#sample((nowMs - begunMs) / 60_000);
      }
      if (nowMs >= nextLineMs) {
        nextLineMs = nowMs + 60_000;
        const sizes = this.#members.map(
          ({ name, samples }) => `${name} ${samples.at(-1)?.megabytes.toFixed(1)} MB`,
        );
        onLine(`${((nowMs - begunMs) / 60_000).toFixed(0)} min, ${step} edits: ${sizes.join(", ")}`);
      }
    }
  }

  /** Lets everyone go, and compares what is left with nothing. */
  async judge(): Promise<readonly string[]> {
    const { minutes, onLine } = this.#options;
    this.#provider?.close();
    for (const { poller, agent, name } of this.#agents) {
      await poller.end();
      onLine(`${name}: ${poller.answers} answers, ${poller.failures} while it was away`);
      await this.#becomesZero(name, agent.management, activeStreams);
      await agent.process.stop();
    }
    await this.#becomesZero("tier", `http://127.0.0.1:${this.#ports.tierManagement}`, "sync_active_streams");
    for (const { name, group, samples } of this.#members) {
      if (group.kills > 0) this.#note(`${name}: was killed for want of memory, ${group.kills} times`);
      const warm = samples.filter(({ minutes: at }) => at >= minutes * warmUpShare);
      const slope = megabytesAnHour(warm);
      const peak = Math.max(...samples.map(({ megabytes }) => megabytes));
      onLine(`${name}: peak ${peak.toFixed(1)} MB, ${slope.toFixed(2)} MB an hour`);
      if (minutes >= leastMinutesForSlopes && slope > mostMegabytesAnHour)
        this.#note(`${name}: grows by ${slope.toFixed(2)} MB an hour`);
    }
    return this.#problems;
  }

  async close(): Promise<void> {
    this.#provider?.close();
    for (const { poller, agent } of this.#agents) {
      agent.process.child.kill("SIGCONT");
      await poller.end();
      await agent.process.stop("SIGKILL");
    }
    for (const one of [this.#tierProcess, this.#rootProcess]) await one?.stop("SIGKILL");
    for (const { group } of this.#members) await group.remove();
    this.#directory.remove();
    this.#cache.remove();
  }

  get #members(): readonly Member[] {
    return [this.#root, this.#tier, ...this.#agents];
  }

  #note(problem: string): void {
    this.#problems.push(problem);
    this.#options.onLine(`PROBLEM ${problem}`);
  }

  #sample(minutes: number): void {
    for (const { group, samples } of this.#members)
      samples.push({ minutes, megabytes: group.anonymousBytes / mebibyte });
  }

  /** A small document, and one of a megabyte of which one flag changes. */
  #edit(): void {
    const version = ++this.#version;
    const flag = { state: "ENABLED", variants: { now: version }, defaultVariant: "now" };
    this.#directory.replace("small.json", JSON.stringify({ flags: { version: flag } }));
    const flags: Record<string, unknown> = { version: flag };
    for (let index = 0; index < 4_000; index++)
      flags[`flag-${index}`] = {
        state: "ENABLED",
        variants: { on: true, off: false, text: "x".repeat(150) },
        defaultVariant: "on",
      };
    if (version % 3 === 1) this.#directory.replace("large.json", JSON.stringify({ flags }));
  }

  /** Everybody who is up answers with the newest version in time. */
  async #arrival(): Promise<void> {
    const wanted = this.#version;
    for (const { name, poller, args } of this.#agents) {
      const isSmall = args.join().includes("small");
      if (!isSmall) continue;
      await eventually(() => poller.newest >= wanted, "the edit", arrivalMs).catch(() =>
        this.#note(`${name}: answers with version ${poller.newest} ${arrivalMs / 1_000} s after ${wanted}`),
      );
    }
  }

  async #fault(): Promise<void> {
    const what = Math.floor(this.#random() * 5);
    const victim = this.#agents[Math.floor(this.#random() * this.#agents.length)];
    if (victim === undefined) return;
    if (what === 0) await this.#restart(victim, "SIGTERM");
    else if (what === 1) await this.#restart(victim, "SIGKILL");
    else if (what === 2) {
      victim.poller.excuse();
      victim.agent.process.child.kill("SIGSTOP");
      await pause(5_000 + 10_000 * this.#random());
      victim.agent.process.child.kill("SIGCONT");
      victim.poller.expect();
    } else if (what === 3) {
      await this.#tierProcess?.stop(this.#random() < 0.5 ? "SIGTERM" : "SIGKILL");
      this.#tierProcess = this.#startProxy(this.#tier, `upstream:127.0.0.1:${this.#ports.root}`, "tier");
      await this.#tierProcess.nextLog("listening");
    } else await this.#comeAndGo(40);
  }

  async #restart(victim: AgentMember, signal: NodeJS.Signals): Promise<void> {
    victim.poller.excuse();
    await victim.agent.process.stop(signal);
    victim.agent = await startAgent(victim.args, { wrapper: victim.group.wrapper });
    victim.poller.moveTo(victim.agent.ofrep);
    victim.poller.expect();
    this.#syncFrom(victim);
  }

  /** Clients that subscribe at the tier, read once and go. */
  async #comeAndGo(count = 5): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const client = new StockSyncClient(`127.0.0.1:${this.#ports.tier}`);
        const name = index % 2 === 0 ? "small" : "none";
        const subscription = client.subscribe({ selector: `default/${name}` });
        if (name === "small") await subscription.messages.nextEvent("flags").catch(() => undefined);
        subscription.cancel();
        client.close();
      }),
    );
  }

  #startProxy(member: Member, source: string, which: "root" | "tier"): ServiceProcess {
    const [port, management] = [this.#ports[which], this.#ports[`${which}Management`]];
    return new ServiceProcess(binaries.proxy, {
      args: [
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
        "--management-port",
        String(management),
        "--source",
        source,
      ],
      image: proxyImage,
      wrapper: member.group.wrapper,
    });
  }

  /** Waits until no series of the metric, whatever its labels, is above zero. */
  async #becomesZero(name: string, management: string, metric: string): Promise<void> {
    const isZero = async (): Promise<boolean> => {
      const text = await (await fetch(`${management}/metrics`)).text();
      if (!text.includes(`# TYPE ${metric} `)) throw new Error(`${name} has no metric ${metric}`);
      const series = text.split("\n").filter((line) => new RegExp(`^${metric}[{ ]`).test(line));
      return series.every((line) => line.endsWith(" 0"));
    };
    await eventually(isZero, metric, 60_000).catch((error: unknown) =>
      this.#note(`${name}: ${(error as Error).message}`),
    );
  }
}

function sources(port: number, ...names: readonly string[]): readonly string[] {
  const uri = `grpc://127.0.0.1:${port}`;
  const configs = names.map((name) => ({ uri, provider: "grpc", selector: `default/${name}` }));
  return ["--sources", JSON.stringify(configs)];
}

function member(name: string, limit: number): Member {
  return { name, group: new MemoryCgroup(limit), samples: [] };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

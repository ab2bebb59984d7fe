import { readdirSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { rssBytes } from "../../cluster/support/rss-bytes.js";
import { startAgent, type AgentAddresses } from "../../support/agent-process.js";
import { eventually } from "../../support/event-queue.js";
import { patient } from "../../support/patience.js";
import { manifest, versionOf } from "../../support/manifests.js";
import { startProxy, type ProxyProcess } from "../../support/proxy-process.js";
import type { ServiceProcess } from "../../support/service-process.js";
import { StockSyncClient, type SyncSubscription } from "../../support/stock-sync-client.js";
import { TempDirectory } from "../../support/temp-directory.js";
import { isAcceptedLog } from "./accepted.js";
import type { DocumentRoute, PortName } from "./fuzz-case.js";
import { HostileProxy } from "./hostile-proxy.js";
import { fuzzedTopic, honestTopic, hostileTopics } from "./random-case.js";

/** What a process holds while it is idle. */
export interface Holdings {
  readonly descriptors: number;
  readonly rssMb: number;
}

const honestFile = "honest.yaml";
const descriptorSlack = 6;

/** A real proxy and a real agent behind it, with default options, an honest client of each, and all ways for documents to reach them. */
export class Subjects {
  readonly processes: Readonly<Record<"proxy" | "agent", ServiceProcess>>;
  readonly #ports: Readonly<Record<PortName, number>>;
  readonly #ofrep: string;
  readonly #directory: TempDirectory;
  readonly #files: TempDirectory;
  readonly #hostile: Readonly<Record<"flagd" | "bunting", HostileProxy>>;
  readonly #client: StockSyncClient;
  readonly #subscription: SyncSubscription;
  readonly #logsRead = { proxy: 0, agent: 0 };
  #version = 1;

  private constructor(input: {
    readonly proxy: ProxyProcess;
    readonly agent: AgentAddresses & { readonly process: ServiceProcess };
    readonly directory: TempDirectory;
    readonly files: TempDirectory;
    readonly hostile: Readonly<Record<"flagd" | "bunting", HostileProxy>>;
  }) {
    const { proxy, agent, directory, files, hostile } = input;
    this.processes = { proxy: proxy.process, agent: agent.process };
    this.#ports = {
      "proxy-sync": portOf(proxy.sync),
      "proxy-management": portOf(proxy.management),
      "agent-evaluation": portOf(agent.evaluation),
      "agent-sync": portOf(agent.sync),
      "agent-ofrep": portOf(agent.ofrep),
      "agent-management": portOf(agent.management),
    };
    this.#ofrep = agent.ofrep;
    this.#directory = directory;
    this.#files = files;
    this.#hostile = hostile;
    this.#client = new StockSyncClient(proxy.sync);
    this.#subscription = this.#client.subscribe({ selector: honestTopic });
  }

  static async start(): Promise<Subjects> {
    const directory = new TempDirectory();
    const files = new TempDirectory();
    directory.replace(honestFile, manifest("honest", 1));
    for (const name of ["fuzzed.json", "fuzzed.yaml"]) files.replace(name, '{"flags":{}}');
    const hostile = {
      flagd: await HostileProxy.start("/flagd.sync.v1.FlagSyncService/SyncFlags"),
      bunting: await HostileProxy.start("/bunting.sync.v1.SyncService/Sync"),
    };
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
    const sources = [
      { provider: "file", uri: files.file("fuzzed.json") },
      { provider: "file", uri: files.file("fuzzed.yaml") },
      { provider: "grpc", uri: proxy.sync, selector: fuzzedTopic },
      { provider: "grpc", uri: hostile.flagd.address, selector: hostileTopics.flagd },
      { provider: "grpc", uri: hostile.bunting.address, selector: hostileTopics.bunting },
      // The last one wins, so that no mutated document can change what the honest client gets.
      { provider: "grpc", uri: proxy.sync, selector: honestTopic },
    ];
    const args = ["--sources", JSON.stringify(sources), "--cache-dir", files.file("cache")];
    const agent = await startAgent(args);
    const subjects = new Subjects({ proxy, agent, directory, files, hostile });
    await subjects.#subscription.messages.nextEvent("the honest client's flags");
    await eventually(() => subjects.#agentHas(1), "the agent's flags");
    return subjects;
  }

  port(name: PortName): number {
    return this.#ports[name];
  }

  deliver(route: DocumentRoute, bytes: Buffer): void {
    if (route === "flagd" || route === "bunting") {
      this.#hostile[route].send(bytes);
      return;
    }
    const [place, extension] = route.split("-") as ["directory" | "file", string];
    if (place === "directory") writeFileSync(this.#directory.file(`fuzzed.${extension}`), bytes);
    else writeFileSync(this.#files.file(`fuzzed.${extension}`), bytes);
  }

  /** An edit reaches the honest client of the proxy and the one of the agent. @throws Error if it does not. */
  async assertHonestServed(): Promise<void> {
    this.#version++;
    this.#directory.replace(honestFile, manifest("honest", this.#version));
    const { text } = await this.#subscription.messages.nextEvent("an edit, at the honest client");
    if (versionOf(text) !== this.#version)
      throw new Error(`the honest client has version ${versionOf(text)} instead of ${this.#version}`);
    await eventually(() => this.#agentHas(this.#version), "the edit, at the agent's honest client");
  }

  /** @throws Error if a process has ended or logged something that is not accepted. */
  assertWell(): void {
    for (const name of ["proxy", "agent"] as const) {
      const { child, logs, words } = this.processes[name];
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(
          `the ${name} has ended (${child.signalCode ?? child.exitCode}): ${this.processes[name].output.slice(-4_000)}`,
        );
      }
      if (words.length > 0) throw new Error(`the ${name} wrote: ${words.join("\n").slice(-2_000)}`);
      for (const line of logs.slice(this.#logsRead[name])) {
        this.#logsRead[name]++;
        if (!["error", "fatal"].includes(line.level)) continue;
        const text = `${name} ${JSON.stringify(line)}`;
        if (!isAcceptedLog(text)) throw new Error(`a log line of level ${line.level}: ${text}`);
      }
    }
  }

  holdings(name: "proxy" | "agent"): Holdings {
    const { pid } = this.processes[name];
    return { descriptors: readdirSync(`/proc/${pid}/fd`).length, rssMb: rssBytes(pid) / 2 ** 20 };
  }

  /** Waits until a process holds little more than it did. @throws Error if it still does at the deadline. */
  async assertReleased(
    name: "proxy" | "agent",
    idle: Holdings,
    maxGrowthMb: number,
    withinMs: number,
  ): Promise<void> {
    const deadline = Date.now() + patient(withinMs);
    for (;;) {
      const { descriptors, rssMb } = this.holdings(name);
      if (descriptors <= idle.descriptors + descriptorSlack && rssMb <= idle.rssMb + maxGrowthMb) return;
      if (Date.now() > deadline) {
        throw new Error(
          `a leak: the ${name} has ${descriptors} descriptors and ${rssMb.toFixed(0)} MB, after ${idle.descriptors} and ${idle.rssMb.toFixed(0)} MB at the start`,
        );
      }
      await delay(100);
    }
  }

  async stop(): Promise<void> {
    this.#client.close();
    await Promise.all(Object.values(this.processes).map((process) => process.stop("SIGKILL")));
    await Promise.all(Object.values(this.#hostile).map((proxy) => proxy.stop()));
    this.#directory.remove();
    this.#files.remove();
  }

  async #agentHas(version: number): Promise<boolean> {
    const response = await fetch(`${this.#ofrep}/ofrep/v1/evaluate/flags/on-off`, {
      method: "POST",
      body: "{}",
    });
    if (response.status !== 200) return false;
    const { value, metadata } = (await response.json()) as {
      value?: unknown;
      metadata?: { version?: number };
    };
    return metadata?.version === version && value === (version % 2 === 1);
  }
}

function portOf(address: string): number {
  return Number(/:(\d+)$/.exec(address)?.[1]);
}

import { mkdirSync } from "node:fs";
import path from "node:path";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { freePort } from "../support/free-port.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { eventually } from "../support/event-queue.js";
import { binaries, proxyImage, ServiceProcess, type LogLine } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { AnswerPoller } from "./answer-poller.js";
import { InProcessProvider } from "./in-process-provider.js";
import type { Sample } from "./slope.js";
import { SoakDocuments, type DocumentName } from "./soak-documents.js";
import { VersionJudge, Way } from "./version-judge.js";

export const mebibyte = 1024 * 1024;
/** Limits of the containers in our chart. */
const limits = { proxy: 512 * mebibyte, agent: 64 * mebibyte };

/** Has each program collect its garbage on SIGUSR2. */
const collecting = { NODE_OPTIONS: `--require=${path.join(import.meta.dirname, "collect-on-signal.cjs")}` };

/** One program with the limit of its container. */
export interface Member {
  readonly name: string;
  readonly group: MemoryCgroup;
  readonly samples: Sample[];
  /** After collections only: what is held, without the garbage that V8 leaves to lie according to the limit of the heap. */
  readonly floor: Sample[];
  /** What V8's heap holds then. */
  readonly heap: Sample[];
  /** The program, as part of the way to its readers. */
  readonly way: Way;
}

export interface ProxyMember extends Member {
  readonly port: number;
  readonly management: string;
  readonly source: string;
  process: ServiceProcess;
}

export interface AgentMember extends Member {
  readonly args: readonly string[];
  /** Which document it answers `version` from. */
  readonly document: DocumentName;
  /** From the documents to its readers. */
  readonly ways: readonly Way[];
  readonly judge: VersionJudge;
  readonly poller: AnswerPoller;
  agent: AgentProcess;
  /** What syncs from it, if it has that. */
  provider: InProcessProvider | undefined;
}

interface AgentPlan {
  readonly name: string;
  readonly of: ProxyMember;
  readonly selectors: readonly DocumentName[];
  readonly hasCache?: boolean;
  readonly hasProvider?: boolean;
}

/** A proxy, a tier behind it and six agents, in the limits of their images, each restarted on the ports and in the control group that it had. */
export class SoakWorld {
  readonly documents: SoakDocuments;
  readonly agents: AgentMember[] = [];
  readonly proxies: ProxyMember[] = [];
  readonly #directory = new TempDirectory();
  readonly #cache = new TempDirectory();
  readonly #note: (problem: string) => void;

  constructor(note: (problem: string) => void) {
    this.#note = note;
    this.documents = new SoakDocuments(this.#directory);
  }

  async start(): Promise<void> {
    this.documents.edit();
    mkdirSync(this.#cache.file("flags"));
    const root = await this.#startProxy("proxy", `dir:${this.#directory.path}`);
    const tier = await this.#startProxy("tier", `upstream:127.0.0.1:${root.port}`);
    await this.#startAgent({ name: "small", of: tier, selectors: ["small"] });
    await this.#startAgent({ name: "large", of: tier, selectors: ["large"] });
    await this.#startAgent({ name: "large, in process", of: tier, selectors: ["large"], hasProvider: true });
    await this.#startAgent({ name: "both", of: tier, selectors: ["large", "small"] });
    await this.#startAgent({ name: "with a cache", of: tier, selectors: ["small"], hasCache: true });
    await this.#startAgent({ name: "of the first proxy", of: root, selectors: ["small"] });
    for (const { poller } of this.agents) poller.begin();
  }

  get members(): readonly Member[] {
    return [...this.proxies, ...this.agents];
  }

  /** The proxies that a document passes through to the readers of one of them. */
  waysTo({ name }: ProxyMember): readonly Way[] {
    return this.proxies.slice(0, name === "tier" ? 2 : 1).map(({ way }) => way);
  }

  async restartAgent(member: AgentMember, signal: NodeJS.Signals): Promise<void> {
    member.way.isAway();
    member.provider?.close();
    await member.agent.process.stop(signal);
    member.agent = await startAgent(member.args, { wrapper: member.group.wrapper, env: collecting });
    member.poller.moveTo(member.agent);
    this.#syncFrom(member);
    member.way.isBack();
  }

  async restartProxy(member: ProxyMember, signal: NodeJS.Signals): Promise<void> {
    member.way.isAway();
    await member.process.stop(signal);
    member.process = proxyProcess(member);
    await isListening(member.process);
    member.way.isBack();
  }

  async close(): Promise<void> {
    for (const { poller, agent, provider } of this.agents) {
      provider?.close();
      agent.process.child.kill("SIGCONT");
      await poller.end();
      await agent.process.stop("SIGKILL");
    }
    for (const { process } of this.proxies) await process.stop("SIGKILL");
    for (const { group } of this.members) await group.remove();
    this.#directory.remove();
    this.#cache.remove();
  }

  async #startProxy(name: string, source: string): Promise<ProxyMember> {
    const [port, managementPort] = [await freePort(), await freePort()];
    const group = new MemoryCgroup(limits.proxy);
    const started = { name, group, samples: [], floor: [], heap: [], way: new Way(), port, source };
    const management = `http://127.0.0.1:${managementPort}`;
    const member = { ...started, management, process: proxyProcess({ group, port, management, source }) };
    this.proxies.push(member);
    await isListening(member.process);
    return member;
  }

  async #startAgent({ name, of, selectors, hasCache, hasProvider }: AgentPlan): Promise<void> {
    const [group, way] = [new MemoryCgroup(limits.agent), new Way()];
    const uri = `grpc://127.0.0.1:${of.port}`;
    const sources = selectors.map((selector) => ({ uri, provider: "grpc", selector: `default/${selector}` }));
    const args = ["--sources", JSON.stringify(sources)];
    if (hasCache === true) args.push("--cache-dir", this.#cache.file("flags"));
    const document = selectors.at(-1) ?? "small";
    const ways = [...this.waysTo(of), way];
    const report = (problem: string): void => this.#note(`${name}: ${problem}`);
    const judge = new VersionJudge(this.documents, document, ways, report);
    const agent = await startAgent(args, { wrapper: group.wrapper, env: collecting });
    const poller = new AnswerPoller(agent, judge, { own: way, all: ways }, report);
    const member: AgentMember = {
      ...{ name, group, samples: [], floor: [], heap: [], way, args, document, ways, judge, poller, agent },
      provider: undefined,
    };
    this.agents.push(member);
    if (hasProvider === true) this.#syncFrom(member, true);
  }

  /** Lets a provider evaluate in process from an agent that has one. */
  #syncFrom(member: AgentMember, isFirst = false): void {
    if (!isFirst && member.provider === undefined) return;
    const report = (problem: string): void => this.#note(`provider of ${member.name}: ${problem}`);
    const judge = new VersionJudge(this.documents, member.document, member.ways, report);
    member.provider = new InProcessProvider(member.agent.sync, judge, (end) =>
      report(`its stream ended with ${end}`),
    );
  }
}

/** The management port opens before the other. */
function isListening({ logs }: ServiceProcess): Promise<void> {
  const isSync = ({ msg, service }: LogLine): boolean => msg === "listening" && service === "sync";
  return eventually(() => logs.some(isSync), "the sync port");
}

function proxyProcess(member: Pick<ProxyMember, "group" | "port" | "management" | "source">): ServiceProcess {
  const { group, port, management, source } = member;
  return new ServiceProcess(binaries.proxy, {
    args: [
      ...["start", "--host", "127.0.0.1", "--port", String(port)],
      ...["--management-port", new URL(management).port, "--source", source],
    ],
    image: proxyImage,
    env: collecting,
    wrapper: group.wrapper,
  });
}

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Evaluating } from "../support/evaluating.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { FlowingEdits } from "../support/flowing-edits.js";
import { portOf, startProxyInPod, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { TcpSwitch } from "../support/tcp-switch.js";
import { TempDirectory } from "../support/temp-directory.js";
import { binaryOf, type Version } from "./previous-binaries.js";

const topic = "default/flags";
const flag = "version";
/** Time enough for clients to go one after the other. */
const drain = ["--drain-delay", "500ms", "--drain-window", "2s"];
/** So many that an edit of one flag is worth a delta. */
const others = Object.fromEntries(
  Array.from({ length: 100 }, (_, index) => [`other-${index}`, { state: "ENABLED", variants: { a: index } }]),
);

/** Proxies and agents of both versions on one API server, applications that ask these agents all the time, and edits that flow. */
export class SkewedWorld {
  readonly api: FaultyApiServer;
  readonly edits: FlowingEdits;
  readonly agents: { readonly version: Version; readonly agent: AgentProcess }[] = [];
  readonly #directory = new TempDirectory();
  readonly #applications: Evaluating[] = [];
  readonly #cleanUps: (() => unknown)[] = [];

  private constructor(api: FaultyApiServer) {
    this.api = api;
    this.edits = new FlowingEdits(api, [topic], others);
    this.edits.put();
  }

  static async start(): Promise<SkewedWorld> {
    return new SkewedWorld(await FaultyApiServer.start());
  }

  /** The address of a Service without endpoints. */
  async service(): Promise<TcpSwitch> {
    const service = await TcpSwitch.start();
    this.#cleanUps.push(() => service.close());
    return service;
  }

  /** A proxy that watches the cluster. */
  watching(version: Version): Promise<ProxyProcess> {
    const account = this.#directory.file("account");
    mkdirSync(account, { recursive: true });
    writeFileSync(path.join(account, "ca.crt"), this.api.ca);
    writeFileSync(path.join(account, "token"), "a-token");
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(this.api.port),
    };
    const pod = { directory: account, environment };
    return this.#ready(startProxyInPod(pod, drain, { binary: binaryOf(version, "proxy") }));
  }

  /** A proxy that is fed by those behind a Service. */
  fed(version: Version, upstream: TcpSwitch): Promise<ProxyProcess> {
    const source = `upstream:127.0.0.1:${upstream.port}`;
    return this.#ready(startProxyOn(source, drain, {}, [], binaryOf(version, "proxy")));
  }

  /** An agent that reads by a Service, and an application that asks it from now on. */
  async ask(version: Version, service: TcpSwitch, args: readonly string[] = []): Promise<AgentProcess> {
    const sources = proxySources(`127.0.0.1:${service.port}`, topic);
    const agent = await startAgent([...sources, ...args], { binary: binaryOf(version, "agent") });
    this.#cleanUps.push(() => agent.process.stop("SIGKILL"));
    await eventually(() => isReady(agent.management), `the ${version} agent is ready`);
    this.agents.push({ version, agent });
    this.#applications.push(new Evaluating(agent.ofrep, flag));
    return agent;
  }

  /** As in Kubernetes: the next one is among the endpoints before the old one is stopped. */
  async replace(
    old: ProxyProcess,
    next: ProxyProcess,
    service: TcpSwitch,
    others: readonly ProxyProcess[] = [],
  ): Promise<void> {
    service.setBackends([...others, next].map(portOf));
    expect(await old.process.stop("SIGTERM"), old.process.output).to.equal(0);
  }

  /** Every application is answered with the newest edit; so are those that are made now. */
  async allHaveTheNewest(): Promise<void> {
    await this.edits.more(5);
    const { version } = this.edits;
    const isSo = (): boolean => this.#applications.every(({ last }) => last >= version);
    await eventually(isSo, `every application is answered with edit ${version}`, 60_000);
  }

  /** Each agent gets the next edits as deltas, on a stream that goes on. */
  async edit(): Promise<void> {
    await this.allHaveTheNewest();
    const before = await this.#seen();
    await this.allHaveTheNewest();
    const after = await this.#seen();
    for (const [index, { version }] of this.agents.entries()) {
      const [was, is] = [before[index], after[index]];
      expect(is?.deltas, `deltas to the ${version} agent`).to.be.greaterThan(was?.deltas ?? 0);
      expect(is?.failures, `failures of the ${version} agent's streams`).to.equal(was?.failures);
    }
  }

  /** Ends the edits; no application may have gone without an answer, or have been answered with an older version than before. */
  async judge(): Promise<void> {
    await this.allHaveTheNewest();
    this.edits.end();
    for (const application of this.#applications) {
      await application.end();
      expect(application.failures).to.deep.equal([]);
      expect(application.backwards).to.deep.equal([]);
      expect(application.answers).to.be.greaterThan(20);
    }
    for (const [index, { nacks }] of (await this.#seen()).entries())
      expect(nacks, `what the ${this.agents[index]?.version} agent could not apply`).to.equal(0);
  }

  /** A directory that ends with the world. */
  directory(name: string): string {
    const directory = this.#directory.file(name);
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  /** Ends the applications so far, and looks at none of them again. */
  async endAsking(): Promise<void> {
    await Promise.all(this.#applications.splice(0).map((application) => application.end()));
    this.agents.splice(0);
  }

  async stop(): Promise<void> {
    this.edits.end();
    await Promise.all(this.#applications.map((application) => application.end()));
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
    await this.api.close();
    this.#directory.remove();
  }

  /** What each agent has counted of its source, over all reasons. */
  #seen(): Promise<readonly { deltas: number; failures: number; nacks: number }[]> {
    return Promise.all(
      this.agents.map(async ({ agent }) => {
        const lines = (await (await fetch(`${agent.management}/metrics`)).text()).split("\n");
        const sum = (series: string): number =>
          lines
            .filter((line) => line.startsWith(series))
            .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" "))), 0);
        return {
          deltas: sum('bunting_agent_sync_messages_total{source="0",kind="delta"}'),
          failures: sum("bunting_agent_sync_failures_total{"),
          nacks: sum("bunting_agent_sync_nacks_total{"),
        };
      }),
    );
  }

  async #ready(starting: Promise<ProxyProcess>): Promise<ProxyProcess> {
    const proxy = await starting;
    this.#cleanUps.push(() => proxy.process.stop("SIGKILL"));
    await eventually(() => isReady(proxy.management), "the proxy is ready");
    return proxy;
  }
}

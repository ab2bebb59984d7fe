import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { expect } from "chai";
import { isReady, startAgent } from "../../support/agent-process.js";
import { eventually, patienceMs } from "../../support/event-queue.js";
import { patient } from "../../support/patience.js";
import type { MemoryCgroup } from "../../support/memory-cgroup.js";
import { readMetric } from "../../support/read-metric.js";
import { TempDirectory } from "../../support/temp-directory.js";
import { BooleanClient } from "./boolean-client.js";
import { HostilePeer, type HostilePeerOptions } from "./hostile-peer.js";
import { mebibyte, Vitals } from "./vitals.js";

/** How far the agent may grow under any attack: its pod has 64 MiB, of which it takes 16 (Node 20) or 19 (Node 24) when it is idle. */
export const maxGrowthMebibytes = 48;

/** What an answer with all flags of an attacked agent takes, at least. */
export const flagBytes = 800_000;

export type AgentPort = "evaluation" | "sync" | "ofrep" | "management";

/** An agent as in its image, with 800 KB of flags, a gRPC client of its evaluation port, and attackers. */
export class AttackedAgent {
  readonly #agent: Awaited<ReturnType<typeof startAgent>>;
  readonly #directory: TempDirectory;
  readonly #client: BooleanClient;
  readonly #vitals: Vitals;
  readonly #sockets: Socket[] = [];

  private constructor(
    agent: Awaited<ReturnType<typeof startAgent>>,
    directory: TempDirectory,
    client: BooleanClient,
  ) {
    this.#agent = agent;
    this.#directory = directory;
    this.#client = client;
    this.#vitals = new Vitals(agent.process.pid);
  }

  static start(...args: readonly string[]): Promise<AttackedAgent> {
    return AttackedAgent.#start(args, []);
  }

  /** As in a container with a memory limit. */
  static startIn(group: MemoryCgroup, ...args: readonly string[]): Promise<AttackedAgent> {
    return AttackedAgent.#start(args, group.wrapper);
  }

  static async #start(args: readonly string[], wrapper: readonly string[]): Promise<AttackedAgent> {
    const directory = new TempDirectory();
    directory.replace("flags.json", JSON.stringify({ flags: flags() }));
    const agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`, ...args], { wrapper });
    await eventually(() => isReady(agent.management), "the agent is ready");
    const client = new BooleanClient(agent.evaluation, patient(patienceMs));
    expect(await client.evaluate(), "an evaluation before the attack").to.equal(true);
    return new AttackedAgent(agent, directory, client);
  }

  /** Replaces its flags by others, and resolves once they are served. */
  async edit(flags: Readonly<Record<string, unknown>>, isServed: (text: string) => boolean): Promise<void> {
    this.#directory.replace("flags.json", JSON.stringify({ flags }));
    const url = this.url("ofrep", "/ofrep/v1/evaluate/flags");
    await eventually(async () => {
      const response = await fetch(url, { method: "POST", headers: { connection: "close" } });
      return isServed(await response.text());
    }, "the edit");
  }

  get management(): string {
    return this.#agent.management;
  }

  get pid(): number {
    return this.#agent.process.pid;
  }

  port(name: AgentPort): number {
    return this.#agent.ports.get(name) ?? 0;
  }

  url(name: "evaluation" | "ofrep" | "management", path: string): string {
    return `http://127.0.0.1:${this.port(name)}${path}`;
  }

  async peer(name: AgentPort, options?: HostilePeerOptions): Promise<HostilePeer> {
    const peer = await HostilePeer.connect(this.port(name), options);
    this.#sockets.push(peer.socket);
    return peer;
  }

  /** A connection on which the test writes what it likes, and reads nothing unless it resumes it. */
  async connect(name: AgentPort, localAddress?: string): Promise<Socket> {
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = createConnection({ port: this.port(name), host: "127.0.0.1", ...from });
    socket.on("error", () => undefined).pause();
    this.#sockets.push(socket);
    await Promise.race([once(socket, "connect"), once(socket, "close")]);
    return socket;
  }

  /**
   * An evaluation by the gRPC client, and one over OFREP, are answered; probes too; and the agent has not grown too much.
   *
   * @param attackBytes what it would hold outside of V8's heap with the defect. Heap of that size would end it.
   */
  async isWell(attackBytes?: number): Promise<void> {
    await eventually(async () => this.#client.evaluate(), "an evaluation over gRPC");
    await eventually(async () => (await this.#ask()) === true, "an evaluation over OFREP");
    expect((await fetch(this.url("management", "/readyz"))).status).to.equal(200);
    if (attackBytes === undefined) this.#vitals.expectWithinContainer(maxGrowthMebibytes);
    else this.#vitals.expectGrowth({ below: maxGrowthMebibytes, attack: attackBytes / mebibyte });
  }

  /** How many of so many evaluations at once, all on the one connection of the gRPC client, fail. */
  async failuresOf(evaluations: number): Promise<number> {
    const values = await Promise.all(Array.from({ length: evaluations }, () => this.#client.evaluate()));
    return values.filter((value) => !value).length;
  }

  /** The value of a metric's series. */
  metric(series: string, absent?: number): Promise<number> {
    return readMetric(this.management, series, absent);
  }

  /** Requests over HTTP that have begun and are not answered, this one not among them. */
  async activeRequests(): Promise<number> {
    const text = await (await fetch(this.url("management", "/metrics"))).text();
    const lines = text.split("\n").filter((line) => line.startsWith("http_server_active_requests{"));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  async stop(): Promise<void> {
    this.#vitals.stop();
    for (const socket of this.#sockets.splice(0)) socket.destroy();
    this.#client.close();
    const exitCode = await this.#agent.process.stop();
    this.#directory.remove();
    expect(exitCode, this.#agent.process.output).to.equal(0);
    expect(this.#agent.process.logs.filter(({ level }) => level === "error")).to.deep.equal([]);
  }

  async #ask(): Promise<unknown> {
    const url = this.url("ofrep", "/ofrep/v1/evaluate/flags/on");
    const response = await fetch(url, { method: "POST", headers: { connection: "close" } }).catch(
      () => undefined,
    );
    return ((await response?.json().catch(() => undefined)) as { value?: unknown } | undefined)?.value;
  }
}

/** Writes, and resolves once the system has taken it, the connection is closed, or the agent does not read on for a while. */
export async function push(socket: Socket, bytes: Uint8Array | string): Promise<void> {
  if (socket.destroyed || socket.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      socket.off("drain", done).off("close", done);
      resolve();
    };
    const timer = setTimeout(done, 200);
    socket.on("drain", done).on("close", done);
  });
}

function flags(): Record<string, unknown> {
  const big = Array.from({ length: 20 }, (_, index): [string, unknown] => [
    `big-${index}`,
    { state: "ENABLED", variants: { v: "x".repeat(flagBytes / 20) }, defaultVariant: "v" },
  ]);
  return {
    on: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
    ...Object.fromEntries(big),
  };
}

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startAgent } from "../../support/agent-process.js";
import { patienceMs } from "../../support/event-queue.js";
import { TempDirectory } from "../../support/temp-directory.js";
import { Exchange } from "./exchange.js";
import type { Edit, GoldenRequest, SourceFile, World } from "./golden-case.js";
import { requestOverHttp1 } from "./http1-client.js";
import { requestOverHttp2 } from "./http2-client.js";
import { connectTo, transportArgs, type TransportName } from "./transport.js";

type Process = Awaited<ReturnType<typeof startAgent>>;

const pollMs = 10;

/** An agent with the flags and options of a world. */
export class GoldenServer {
  readonly #directory: TempDirectory;
  readonly #agent: Process;
  readonly #transport: TransportName;

  private constructor(directory: TempDirectory, agent: Process, transport: TransportName) {
    this.#directory = directory;
    this.#agent = agent;
    this.#transport = transport;
  }

  /** Resolves once the agent is ready. */
  static async start({ server }: World, transport: TransportName): Promise<GoldenServer> {
    const directory = new TempDirectory();
    for (const source of server.sources) write(directory, source);
    const uris = server.sources.flatMap(({ uri }) => ["--uri", `file:${uri}`]);
    // flagd does not tell new streams what they may have missed; a world would take minutes otherwise, until there is no such news.
    const args = [
      ...uris,
      ...transportArgs(transport, directory.path),
      "--recent-changes",
      "0",
      ...server.args,
    ];
    const agent = await startAgent(args, { directory: directory.path });
    const started = new GoldenServer(directory, agent, transport);
    const ready = { port: "management", http: "1.1", method: "GET", path: "/readyz" } as const;
    await until(async () => (await started.ask(ready)).status === 200);
    return started;
  }

  send(request: GoldenRequest): Exchange {
    const port = this.#agent.ports.get(request.port) ?? 0;
    const connect = connectTo(this.#transport, request.port, { port, directory: this.#directory.path });
    return request.http === "2" ? requestOverHttp2(connect, request) : requestOverHttp1(connect, request);
  }

  /** The whole exchange of a request whose answer ends by itself. */
  async ask(request: GoldenRequest): Promise<Exchange> {
    const exchange = this.send(request);
    await within(exchange.finished, patienceMs);
    if (exchange.end === undefined) exchange.drop();
    return exchange;
  }

  /** Makes an edit and resolves when it is served. */
  async edit({ set, settle }: Edit): Promise<void> {
    const before = await this.#deliveries();
    for (const source of set) write(this.#directory, source);
    if ("ms" in settle) {
      // Nothing that is served may change: then the agent says that it has read the files.
      await until(async () => (await this.#deliveries()) !== before, settle.ms);
      return;
    }
    const request: GoldenRequest = {
      port: "ofrep",
      http: "1.1",
      path: `/ofrep/v1/evaluate/flags/${settle.flag}`,
      headers: [
        ["content-type", "application/json"],
        ["flagd-selector", `source=${settle.source}`],
      ],
      body: "{}",
    };
    await until(async () => {
      const { body } = await this.ask(request);
      return (JSON.parse(body.toString()) as { variant?: string }).variant === settle.variant;
    }, 6_000);
  }

  /** Resolves when a stream that was dropped has been counted. */
  async hasCounted(methodPath: string): Promise<void> {
    const name = `rpc_method="${methodPath.split("/").at(-1) ?? ""}"`;
    const request = { port: "management", http: "1.1", method: "GET", path: "/metrics" } as const;
    await until(async () => (await this.ask(request)).body.includes(name), 1_000);
  }

  kill(signal: NodeJS.Signals): void {
    this.#agent.process.child.kill(signal);
  }

  async stop(): Promise<void> {
    await this.#agent.process.stop("SIGKILL");
    this.#directory.remove();
  }

  /** How many documents each source has delivered, and how often each failed. */
  async #deliveries(): Promise<string> {
    const { body } = await this.ask({ port: "management", http: "1.1", method: "GET", path: "/metrics" });
    const told = /^bunting_agent_(sync_(documents|failures)|store_refused_documents)_total/;
    return body
      .toString()
      .split("\n")
      .filter((line) => told.test(line))
      .join("\n");
  }
}

function write(directory: TempDirectory, { uri, text, base64, gone = false }: SourceFile): void {
  const file = directory.file(uri);
  if (gone) {
    rmSync(file);
    return;
  }
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, base64 === undefined ? (text ?? "") : Buffer.from(base64, "base64"));
  renameSync(`${file}.new`, file);
}

/** Resolves when it is true, or after so long: what is asked next tells whether it was. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  atMostMs: number = patienceMs,
): Promise<void> {
  const sinceMs = performance.now();
  const waitedMs = (): number => performance.now() - sinceMs;
  while (!(await isTrue()) && waitedMs() < atMostMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(pollMs, waitedMs() / 10)));
  }
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}

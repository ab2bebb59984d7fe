import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { syncV1 } from "@bunting/protocol";
import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";

/** A kind of source, whose newest document can be replaced. */
interface Kind {
  readonly source: object;
  readonly put: (document: string) => void;
  /** What is no flag document there. */
  readonly broken: string;
}

function document(key: string, variant: "on" | "off"): string {
  const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: variant };
  return JSON.stringify({ flags: { [key]: flag } });
}

/** Sends its document to each stream of flagd.sync.v1, and each newer one. */
class StreamServer {
  readonly #server = new Server();
  readonly #streams = new Set<ServerWritableStream<Buffer, Buffer>>();
  #document = "";
  port = 0;

  async start(): Promise<void> {
    const same = (bytes: Buffer): Buffer => bytes;
    const codecs = {
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const path = "/flagd.sync.v1.FlagSyncService/SyncFlags";
    this.#server.addService(
      { SyncFlags: { path, requestStream: false, responseStream: true, ...codecs } },
      {
        SyncFlags: (stream: ServerWritableStream<Buffer, Buffer>) => {
          this.#streams.add(stream);
          this.#send(stream);
        },
      },
    );
    this.port = await new Promise((resolve, reject) => {
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(port);
        else reject(error);
      });
    });
  }

  put(document: string): void {
    this.#document = document;
    for (const stream of this.#streams) this.#send(stream);
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  #send(stream: ServerWritableStream<Buffer, Buffer>): void {
    const message = { flagConfiguration: this.#document, syncContext: undefined };
    stream.write(Buffer.from(syncV1.SyncFlagsResponse.encode(message).finish()));
  }
}

describe("bunting-agent with --stale-after, and a newest document that is refused", () => {
  let directory: TempDirectory;
  let http: HttpServer;
  let streams: StreamServer;
  let api: FaultyApiServer;
  let agent: AgentProcess;
  const agents: AgentProcess[] = [];
  const kinds = new Map<string, Kind>();
  const served = new Map<string, { readonly type: string; text: string }>();

  before(async () => {
    directory = new TempDirectory();
    http = createServer(({ url = "" }, response) => {
      const { type, text } = served.get(url) ?? { type: "text/plain", text: "" };
      response.setHeader("content-type", type);
      response.end(text);
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    streams = new StreamServer();
    await streams.start();
    api = await FaultyApiServer.start();
    directory.replace("token", "token");
    directory.replace("ca.crt", api.ca.toString());
    directory.replace("namespace", "shop");

    const { port } = http.address() as AddressInfo;
    for (const [name, file, broken] of [
      ["file-json", "flags.json", "not JSON"],
      ["file-yaml", "flags.yaml", "flags: ["],
    ] as const) {
      const source = { uri: directory.file(file), provider: "file" };
      kinds.set(name, { source, broken, put: (text) => directory.replace(file, text) });
    }
    for (const [name, type, broken] of [
      ["http-json", "application/json", "<html>sign in</html>"],
      ["http-yaml", "application/yaml", "flags: ["],
    ] as const) {
      const source = { uri: `http://127.0.0.1:${port}/${name}`, provider: "http", interval: 1 };
      kinds.set(name, { source, broken, put: (text) => void served.set(`/${name}`, { type, text }) });
    }
    kinds.set("grpc", {
      source: { uri: `127.0.0.1:${streams.port}`, provider: "grpc" },
      broken: "[]",
      put: (text) => streams.put(text),
    });
    kinds.set("kubernetes", {
      source: { uri: "shop/flags", provider: "kubernetes" },
      broken: '{"flags":"none"}',
      put: (text) => api.put("shop", "flags", { flagSpec: JSON.parse(text) as object }),
    });
    for (const [name, { put }] of kinds) put(document(name, "on"));
    agent = await agentOf(...kinds.values());
    await eventually(() => isReady(agent.management), "/readyz");
  });
  after(async () => {
    const exitCodes = await Promise.all(agents.map(({ process }) => process.stop()));
    await api.close();
    streams.stop();
    http.closeAllConnections();
    http.close();
    directory.remove();
    expect(exitCodes, agent.process.output).to.deep.equal(agents.map(() => 0));
  });

  async function agentOf(...of: readonly Kind[]): Promise<AgentProcess> {
    const sources = JSON.stringify(of.map(({ source }) => source));
    const started = await startAgent(
      ["--sources", sources, "--stale-after", "200ms", "--service-account-directory", directory.path],
      { env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) } },
    );
    agents.push(started);
    return started;
  }

  const answer = async (key: string, { ofrep } = agent): Promise<unknown> => {
    const url = `${ofrep}/ofrep/v1/evaluate/flags/${key}`;
    const { value, reason } = (await (await fetch(url, { method: "POST", body: "{}" })).json()) as Record<
      string,
      unknown
    >;
    return { value, reason };
  };

  for (const [index, name] of [
    "file-json",
    "file-yaml",
    "http-json",
    "http-yaml",
    "grpc",
    "kubernetes",
  ].entries()) {
    it(`is stale whatever its kind (${name}): metric, /readyz and answers agree, until a document is served`, async () => {
      const { put, broken } = kinds.get(name) ?? expect.fail("no such kind");
      const metric = (which: string): Promise<number> =>
        readMetric(agent.management, `bunting_agent_sync_${which}{source="${index}"}`);
      const readyz = async (): Promise<string> => {
        const response = await fetch(`${agent.management}/readyz`);
        expect(response.status).to.equal(200);
        return response.text();
      };
      await eventually(async () => (await metric("stale")) === 0, "it is followed");
      expect(await answer(name)).to.deep.equal({ value: true, reason: "STATIC" });

      put(broken);
      await eventually(async () => (await metric("stale")) === 1, "it is stale");
      expect(await answer(name)).to.deep.equal({ value: true, reason: "STALE" });
      expect(await metric("connected")).to.equal(1);
      expect(await metric("unconfirmed_seconds")).to.be.greaterThan(0.19);
      const body = await readyz();
      expect(body).to.match(/^ready, but flags are stale\n/);
      const line = body.split("\n").find((text) => text.startsWith(`source ${index} `));
      expect(line).to.match(/: connected .*, answered as STALE: its newest document is refused: ./);
      const failures = `bunting_agent_sync_failures_total{source="${index}",reason="refused"}`;
      expect(await readMetric(agent.management, failures)).to.be.greaterThan(0);

      put(document(name, "off"));
      await eventually(async () => (await metric("stale")) === 0, "it is followed again");
      expect(await answer(name)).to.deep.equal({ value: false, reason: "STATIC" });
      expect(await metric("unconfirmed_seconds")).to.equal(0);
      expect(await readyz()).to.match(/^ready\n/);
    });
  }

  for (const name of ["file-json", "file-yaml", "http-json", "http-yaml", "grpc", "kubernetes"]) {
    it(`has answered with its first one, whatever its kind (${name}), so that the agent is ready and says what it lacks`, async () => {
      const kind = kinds.get(name) ?? expect.fail("no such kind");
      const { put, broken } = kind;
      put(broken);
      const late = await agentOf(kind);
      await eventually(() => isReady(late.management), "/readyz");
      const body = await (await fetch(`${late.management}/readyz`)).text();
      expect(body).to.match(
        /^ready, but (without flags of .+|flags are stale)\nsource 0 .*: its newest document is refused: ./,
      );
      expect(await answer(name, late)).to.deep.equal({ value: undefined, reason: undefined });

      put(document(name, "off"));
      await eventually(
        async () => (await (await fetch(`${late.management}/readyz`)).text()).startsWith("ready\n"),
        "its flags",
      );
      expect(await answer(name, late)).to.deep.equal({ value: false, reason: "STATIC" });
    });
  }
});

import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { fileDescriptorSetBase64, type JsonObject } from "@bunting/protocol";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

interface EvaluationClient {
  resolveBoolean(request: object): Promise<{ readonly value?: unknown; readonly reason: string }>;
  eventStream(request: object): AsyncIterable<{ readonly type: string; readonly data?: JsonObject }>;
}

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(fileDescriptorSetBase64, "base64")),
);

function clientOf(transport: Transport): EvaluationClient {
  const service = registry.getService("flagd.evaluation.v1.Service");
  if (service === undefined) throw new Error("the descriptors have no flagd.evaluation.v1");
  return createClient(service, transport) as unknown as EvaluationClient;
}

const flags = (variant: string): string =>
  JSON.stringify({
    flags: { bool: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: variant } },
  });

/** The clients of connect-node against an agent that is stopped, and against one with TLS. */
describe("a client of connect-node", () => {
  const directory = new TempDirectory();
  const sessions: Http2SessionManager[] = [];
  let agent: AgentProcess | undefined;

  beforeEach(() => directory.replace("flags.json", flags("on")));
  afterEach(async () => {
    for (const session of sessions.splice(0)) session.abort();
    const exitCode = await agent?.process.stop();
    expect(exitCode ?? 0, agent?.process.output).to.equal(0);
    agent = undefined;
  });
  after(() => directory.remove());

  async function start(...args: readonly string[]): Promise<AgentProcess> {
    const started = await startAgent(["--uri", `file:${directory.file("flags.json")}`, ...args]);
    agent = started;
    await eventually(() => isReady(started.management), "the agent is ready");
    return started;
  }

  /** Connect over both versions of HTTP, and gRPC-Web. */
  function transports(
    baseUrl: string,
    nodeOptions: { readonly ca?: string } = {},
  ): Record<string, Transport> {
    const http2 = (): { httpVersion: "2"; sessionManager: Http2SessionManager } => {
      const sessionManager = new Http2SessionManager(baseUrl, undefined, nodeOptions);
      sessions.push(sessionManager);
      return { httpVersion: "2", sessionManager };
    };
    return {
      "Connect over HTTP/1.1": createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
      "Connect over HTTP/2": createConnectTransport({ baseUrl, ...http2() }),
      "gRPC-Web over HTTP/2": createGrpcWebTransport({ baseUrl, ...http2() }),
    };
  }

  it("is told provider_shutdown when the agent stops, and then UNAVAILABLE", async () => {
    const { evaluation, process: running } = await start();
    const streams = Object.entries(transports(`http://${evaluation}`)).map(
      ([name, transport]) => [name, clientOf(transport).eventStream({})[Symbol.asyncIterator]()] as const,
    );
    for (const [name, stream] of streams)
      for (const type of ["provider_ready", "configuration_change"])
        expect((await stream.next()).value, name).to.include({ type });

    const stopped = running.stop();

    for (const [name, stream] of streams) {
      expect((await stream.next()).value, name).to.include({ type: "provider_shutdown" });
      const end = await stream.next().then(
        () => undefined,
        (error: unknown) => ConnectError.from(error),
      );
      expect([end?.code, end?.rawMessage], name).to.deep.equal([
        Code.Unavailable,
        "the agent is shutting down",
      ]);
    }
    expect(await stopped, running.output).to.equal(0);
  });

  it("evaluates and follows an edit over TLS", async () => {
    const authority = await Authority.create();
    const { cert, key } = await authority.issue();
    directory.replace("tls.crt", cert);
    directory.replace("tls.key", key);
    const { ports } = await start("-c", directory.file("tls.crt"), "-k", directory.file("tls.key"));
    const baseUrl = `https://localhost:${ports.get("evaluation") ?? 0}`;
    for (const [name, transport] of Object.entries(transports(baseUrl, { ca: authority.cert }))) {
      const client = clientOf(transport);
      expect(await client.resolveBoolean({ flagKey: "bool" }), name).to.include({
        value: true,
        reason: "STATIC",
      });
      const events = client.eventStream({})[Symbol.asyncIterator]();
      expect((await events.next()).value, name).to.include({ type: "provider_ready" });
      // What may have changed before the stream began.
      expect((await events.next()).value, name).to.include({ type: "configuration_change" });
      directory.replace("flags.json", flags("off"));
      expect((await events.next()).value, name).to.deep.include({
        type: "configuration_change",
        data: { flags: { bool: { type: "update" } } },
      });
      expect(await client.resolveBoolean({ flagKey: "bool" }), name).to.include({ value: false });
      await events.return?.();
      directory.replace("flags.json", flags("on"));
      await eventually(async () => (await client.resolveBoolean({ flagKey: "bool" })).value === true, name);
    }
  });
});

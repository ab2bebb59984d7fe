import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { fileDescriptorSetBase64, type JsonObject } from "@bunting/protocol";
import { Code, ConnectError, createClient, type CallOptions, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

interface Resolution {
  readonly value?: unknown;
  readonly variant?: string;
  readonly reason: string;
  readonly metadata?: JsonObject;
}

/** What the three evaluation services have in common, as a client of connect-es has it. */
interface EvaluationClient {
  resolveBoolean(request: object, options?: CallOptions): Promise<Resolution>;
  resolveObject(request: object, options?: CallOptions): Promise<Resolution>;
  eventStream(
    request: object,
    options?: CallOptions,
  ): AsyncIterable<{ readonly type: string; readonly data?: JsonObject }>;
}

interface Way {
  readonly name: string;
  readonly transport: (baseUrl: string) => Transport;
}

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(fileDescriptorSetBase64, "base64")),
);
const services = ["flagd.evaluation.v2.Service", "flagd.evaluation.v1.Service", "schema.v1.Service"];

/** Sessions of HTTP/2, which would keep the process of the tests alive. */
const sessions = new Set<Http2SessionManager>();

function http2(baseUrl: string): { httpVersion: "2"; sessionManager: Http2SessionManager } {
  const sessionManager = new Http2SessionManager(baseUrl);
  sessions.add(sessionManager);
  return { httpVersion: "2", sessionManager };
}

/** Every protocol, version of HTTP, codec and compression that connect-node and connect-web offer. */
const ways: readonly Way[] = [true, false].flatMap((useBinaryFormat) => {
  const codec = useBinaryFormat ? "proto" : "json";
  const inNode = [true, false].flatMap((isCompressed): Way[] => {
    const compression = isCompressed
      ? { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 0 }
      : { acceptCompression: [] };
    const format = { useBinaryFormat, ...compression };
    const suffix = isCompressed ? `${codec}, gzip` : codec;
    return [
      {
        name: `connect-node, Connect over HTTP/1.1, ${suffix}`,
        transport: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", ...format }),
      },
      {
        name: `connect-node, Connect over HTTP/2, ${suffix}`,
        transport: (baseUrl) => createConnectTransport({ baseUrl, ...http2(baseUrl), ...format }),
      },
      {
        name: `connect-node, gRPC, ${suffix}`,
        transport: (baseUrl) => {
          const { sessionManager } = http2(baseUrl);
          return createGrpcTransport({ baseUrl, sessionManager, ...format });
        },
      },
      {
        name: `connect-node, gRPC-Web over HTTP/1.1, ${suffix}`,
        transport: (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", ...format }),
      },
      {
        name: `connect-node, gRPC-Web over HTTP/2, ${suffix}`,
        transport: (baseUrl) => createGrpcWebTransport({ baseUrl, ...http2(baseUrl), ...format }),
      },
    ];
  });
  return [
    ...inNode,
    {
      name: `connect-web, Connect, ${codec}`,
      transport: (baseUrl) => web.createConnectTransport({ baseUrl, useBinaryFormat }),
    },
    {
      name: `connect-web, gRPC-Web, ${codec}`,
      transport: (baseUrl) => web.createGrpcWebTransport({ baseUrl, useBinaryFormat }),
    },
  ];
});

const large = { text: "é".repeat(2_000), list: [1, null, { deep: true }] };

function flagFile(edit: number): string {
  return JSON.stringify({
    metadata: { team: "conformance" },
    flags: {
      bool: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
      large: { state: "ENABLED", variants: { large, small: {} }, defaultVariant: "large" },
      targeted: {
        state: "ENABLED",
        variants: { yes: true, no: false },
        defaultVariant: "no",
        targeting: { if: [{ "==": [{ var: "name" }, "ada"] }, "yes"] },
      },
      edited: {
        state: "ENABLED",
        variants: { on: true, off: false },
        defaultVariant: "on",
        metadata: { edit },
      },
    },
  });
}

/** The client libraries of connect-es, unchanged. */
describe("the clients of Connect, gRPC and gRPC-Web from npm", () => {
  const directory = new TempDirectory();
  let agent: AgentProcess;
  let edits = 0;

  before(async () => {
    directory.replace("flags.json", flagFile(edits));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  afterEach(() => {
    for (const session of sessions) session.abort();
    sessions.clear();
  });
  after(async () => {
    const exitCode = await agent.process.stop();
    directory.remove();
    expect(exitCode, agent.process.output).to.equal(0);
    expect(agent.process.logs.filter(({ level }) => level === "error")).to.deep.equal([]);
  });

  for (const typeName of services) {
    describe(typeName, () => {
      const service = registry.getService(typeName);
      if (service === undefined) throw new Error(`the descriptors have no ${typeName}`);

      for (const { name, transport } of ways) {
        it(`answers, refuses, streams an edit and keeps a deadline (${name})`, async () => {
          const client = createClient(
            service,
            transport(`http://${agent.evaluation}`),
          ) as unknown as EvaluationClient;

          const answer = await client.resolveBoolean({ flagKey: "targeted", context: { name: "ada" } });
          expect(answer).to.include({ value: true, variant: "yes", reason: "TARGETING_MATCH" });
          expect(answer.metadata).to.deep.equal({ team: "conformance" });
          const object = await client.resolveObject({ flagKey: "large" });
          expect(object).to.deep.include({ value: large, variant: "large", reason: "STATIC" });

          expect(await codeOf(client.resolveBoolean({ flagKey: "nowhere" }))).to.equal(Code.NotFound);
          expect(await codeOf(client.resolveObject({ flagKey: "bool" }))).to.equal(Code.InvalidArgument);

          const events = client.eventStream({})[Symbol.asyncIterator]();
          expect(await events.next()).to.have.nested.property("value.type", "provider_ready");
          // What may have changed before the stream began: all, as the agent has just started.
          expect(await events.next()).to.have.nested.property("value.data.flags.bool");
          directory.replace("flags.json", flagFile(++edits));
          const change = (await events.next()).value as unknown;
          expect(change).to.deep.include({
            type: "configuration_change",
            data: { flags: { edited: { type: "update" } } },
          });
          await events.return?.();

          // At the deadline the agent ends streams of schema.v1 without an error, as flagd does: that may arrive first.
          const ends = typeName === "schema.v1.Service" ? [undefined] : [];
          expect(await codeOf(lastOf(client.eventStream({}, { timeoutMs: 100 })))).to.be.oneOf([
            Code.DeadlineExceeded,
            ...ends,
          ]);
        });
      }
    });
  }
});

async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}

async function lastOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined;
  for await (const one of stream) last = one;
  return last;
}

import { readFileSync } from "node:fs";
import http2 from "node:http2";
import { createConnection } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { isReady, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

type Agent = Awaited<ReturnType<typeof startAgent>>;
type PortName = "evaluation" | "sync" | "ofrep" | "management";

const flags = { n: null, a: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } };
const docs = readFileSync(path.join(import.meta.dirname, "../../docs/protocol-differences.md"), "utf8");

/** What comes back for bytes on a connection, until the agent closes it. */
async function exchange(agent: Agent, port: PortName, request: string): Promise<string> {
  const socket = createConnection(agent.ports.get(port) ?? 0, "127.0.0.1");
  socket.end(request);
  return text(socket);
}

async function overHttp2(
  agent: Agent,
  port: PortName,
  headers: http2.OutgoingHttpHeaders,
): Promise<http2.IncomingHttpHeaders> {
  const session = http2.connect(`http://127.0.0.1:${agent.ports.get(port) ?? 0}`);
  try {
    const stream = session.request(headers);
    return await new Promise((resolve, reject) => {
      stream.on("response", resolve).on("error", reject).end();
    });
  } finally {
    session.destroy();
  }
}

/** Kinds of requests of which the recorded answers have none: what flagd answers was seen, and is in the docs. */
const differences: readonly {
  readonly name: string;
  /** The beginning of the line of the docs. */
  readonly docs: string;
  readonly holds: (agent: Agent) => Promise<void>;
}[] = [
  {
    name: "a flag that is null",
    docs: "a flag that is null",
    holds: async (agent) => {
      const answer = await fetch(`http://127.0.0.1:${agent.ports.get("sync") ?? 0}/v1/flags`);
      const { flags: served } = (await answer.json()) as { readonly flags: Readonly<Record<string, object>> };
      expect(served["n"]).to.deep.include({ state: "", variants: {} });
    },
  },
  {
    name: "a deadline of gRPC that is none",
    docs: "a `grpc-timeout` that is none",
    holds: async (agent) => {
      const headers = await overHttp2(agent, "sync", {
        ":method": "POST",
        ":path": "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
        "content-type": "application/grpc",
        "grpc-timeout": "soon",
      });
      expect(headers).to.include({ ":status": 200, "grpc-status": "13" });
    },
  },
  {
    name: "a length beside chunks",
    docs: "HTTP/1.1 with both a `Content-Length` and chunks",
    holds: async (agent) => {
      const head =
        "POST /ofrep/v1/evaluate/flags/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n";
      expect(await exchange(agent, "ofrep", `${head}2\r\n{}\r\n0\r\n\r\n`)).to.match(/^HTTP\/1\.1 400 /);
    },
  },
  {
    name: "OPTIONS of the whole server",
    docs: "`OPTIONS *`",
    holds: async (agent) => {
      for (const port of ["evaluation", "management", "ofrep"] as const)
        expect(await exchange(agent, port, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), port).to.match(
          /^HTTP\/1\.1 404 /,
        );
    },
  },
  {
    name: "the header connection of HTTP/1.0",
    docs: "answers over HTTP/1.0",
    holds: async (agent) => {
      const head = "POST /ofrep/v1/evaluate/flags/a HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n";
      expect(await exchange(agent, "ofrep", `${head}\r\n{}`)).to.match(
        /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/,
      );
      expect(await exchange(agent, "ofrep", `${head}Connection: keep-alive\r\n\r\n{}`)).to.match(
        /\r\nConnection: keep-alive\r\n/,
      );
    },
  },
  {
    name: "series of paths that don't exist",
    docs: "series of metrics for paths that don't exist",
    holds: async (agent) => {
      await exchange(agent, "ofrep", "GET /nowhere-at-all HTTP/1.0\r\n\r\n");
      expect(await (await fetch(`${agent.management}/metrics`)).text()).not.to.contain("nowhere-at-all");
    },
  },
];

describe("what differs from flagd beside the recorded answers", () => {
  const directory = new TempDirectory();
  let agent: Agent;
  before(async () => {
    directory.replace("flags.json", JSON.stringify({ flags }));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`, "--sync-http-enabled"]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  after(async () => {
    await agent.process.stop("SIGTERM");
    directory.remove();
  });

  for (const { name, docs: words, holds } of differences) {
    it(`${name}: is in the docs and still there`, async () => {
      expect(docs).to.match(new RegExp(`^\\| ${words.replace(/[*+.]/g, "\\$&")}`, "m"));
      await holds(agent);
    });
  }
});

import { connect, type IncomingHttpHeaders } from "node:http2";
import { once } from "node:events";
import { expect } from "chai";
import { AttackedAgent, push, type AgentPort } from "./support/attacked-agent.js";

const ports: Readonly<Record<AgentPort, string>> = {
  evaluation: "/flagd.evaluation.v1.Service/ResolveBoolean",
  ofrep: "/ofrep/v1/evaluate/flags/on",
  sync: "/flagd.sync.v1.FlagSyncService/GetMetadata",
  management: "/readyz",
};

/** `--max-request-header` on every port and protocol. */
describe("an agent that gets large headers", () => {
  let agent: AttackedAgent;
  afterEach(() => agent.stop());

  /** The status of a request over HTTP/1.1 with headers of about so many bytes. */
  async function overHttp1(port: AgentPort, bytes: number): Promise<{ status: number; text: string }> {
    const socket = await agent.connect(port);
    // From now on: a refused request is closed while the rest of it is written.
    const closed = closeOf(socket);
    let text = "";
    socket
      .setEncoding("utf8")
      .on("data", (chunk: string) => (text += chunk))
      .resume();
    const method = port === "management" ? "GET" : "POST";
    const json = "content-type: application/json\r\ncontent-length: 16";
    const head = `${method} ${ports[port]} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n`;
    const padding = `x: ${"a".repeat(7_996)}\r\n`.repeat(Math.floor(bytes / 8_000));
    const rest = `x: ${"a".repeat(bytes % 8_000)}\r\n`;
    const post = `${json}\r\n\r\n{"flagKey":"on"}`;
    await push(socket, `${head}${padding}${rest}${method === "POST" ? post : "a: b\r\n\r\n"}`);
    await closed;
    return { status: Number(text.split(" ")[1]), text };
  }

  /** The status of HTTP and of gRPC. */
  async function overHttp2(port: AgentPort, bytes: number, contentType: string): Promise<string> {
    const session = connect(`http://127.0.0.1:${agent.port(port)}`, { maxSendHeaderBlockLength: 1_000_000 });
    session.on("error", () => undefined);
    try {
      await once(session, "remoteSettings");
      const pads = Array.from({ length: Math.ceil(bytes / 2_000) }, (_, index) => [
        `x-${index}`,
        "a".repeat(Math.min(2_000, bytes - index * 2_000)),
      ]);
      const request = session.request({
        ":method": contentType === "" ? "GET" : "POST",
        ":path": ports[port],
        ...(contentType === "" ? {} : { "content-type": contentType }),
        ...(Object.fromEntries(pads) as Record<string, string>),
      });
      request.on("error", () => undefined);
      request.end(
        contentType === "application/grpc" ? Buffer.alloc(5) : contentType === "" ? "" : '{"flagKey":"on"}',
      );
      const ended = closeOf(request);
      let status = "";
      const take = (headers: IncomingHttpHeaders): void => {
        status ||= headers[":status"] === undefined ? "" : String(headers[":status"]);
        if (headers["grpc-status"] !== undefined) status = `grpc ${String(headers["grpc-status"])}`;
      };
      request.on("response", take).on("trailers", take).resume();
      await ended;
      return status === "" ? `reset ${request.rstCode}` : status;
    } finally {
      session.destroy();
    }
  }

  it("refuses them beyond --max-request-header, over HTTP/1.1 with 431 and 4 KiB later as flagd does", async () => {
    agent = await AttackedAgent.start("--max-request-header", "4000");
    for (const port of ["evaluation", "ofrep", "management"] as const) {
      expect((await overHttp1(port, 6_200)).status, port).to.equal(200);
      const refused = await overHttp1(port, 9_000);
      expect(refused.status, port).to.equal(431);
      expect(refused.text).to.contain("connection: close").and.contain("text/plain; charset=utf-8");
    }
    for (const port of ["evaluation", "sync"] as const) {
      expect(await overHttp2(port, 2_000, "application/grpc"), port).to.match(/^grpc/);
      expect(await overHttp2(port, 6_000, "application/grpc"), port).to.match(/^(grpc 8|reset)/);
    }
    expect(await overHttp2("evaluation", 2_000, "application/json")).to.equal("200");
    expect(await overHttp2("evaluation", 6_000, "application/json")).to.match(/^(431|reset)/);
    expect(await overHttp2("management", 6_000, "")).to.match(/^(431|reset)/);
    await agent.isWell();
  });

  it("takes by default 500 KB over HTTP/1.1, and 100 KB over HTTP/2", async () => {
    agent = await AttackedAgent.start();
    for (const port of ["evaluation", "ofrep"] as const) {
      expect((await overHttp1(port, 500_000)).status, port).to.equal(200);
      // The answer may be lost with the rest of the headers, which the agent does not read.
      expect((await overHttp1(port, 1_100_000)).status, port).not.to.equal(200);
    }
    expect(await overHttp2("evaluation", 100_000, "application/grpc")).to.match(/^grpc [05]$/);
    await agent.isWell();
  });
});

/** Resolves at the close, also after an error. */
function closeOf(emitter: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => emitter.once("close", () => resolve()));
}

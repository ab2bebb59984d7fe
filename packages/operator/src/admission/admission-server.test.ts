import { Agent, request as httpsRequest } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { once } from "node:events";
import { RateLimitedLog, systemClock, type Clock } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { Authority } from "@bunting/test/support/certificates.js";
import { expect } from "chai";
import type { CertificatePair } from "@bunting/server";
import { secretPath } from "../api/webhooks.js";
import { AdmissionHandler, type Webhook } from "./admission-handler.js";
import { reviewOf } from "./admission-review.fixture.js";
import { AdmissionServer } from "./admission-server.js";

const path = secretPath("/mutate-v1-pod", "key");

interface Answer {
  readonly status: number;
  readonly body: string;
  /** Headers. */
  readonly connection: string | undefined;
  readonly keepAlive: unknown;
}

describe("AdmissionServer", () => {
  const logger = recordingLogger();
  let authority: Authority;
  let usePair: (pair: CertificatePair) => void;
  let review: Webhook["review"];
  let server: AdmissionServer;
  let abort: AbortController;
  let running: Promise<void>;
  let agent: Agent;
  let handshakes: string[];
  let refused: number;

  async function issue(): Promise<CertificatePair> {
    const { cert, key } = await authority.issue();
    return { cert: Buffer.from(cert), key: Buffer.from(key), validToMs: Date.now() + 1_000_000 };
  }

  beforeEach(async () => {
    authority = await Authority.create();
    agent = new Agent({ keepAlive: true, ca: authority.cert });
    handshakes = [];
    refused = 0;
    review = () => ({ isAllowed: true });
    await start(systemClock, 0);
  });

  async function start(clock: Clock, lingerMs: number): Promise<void> {
    const kind = { group: "", version: "v1", kind: "Pod" };
    const webhook: Webhook = { name: "pod", kinds: [kind], review: (...args) => review(...args) };
    const listeners: ((pair: CertificatePair) => void)[] = [];
    usePair = (pair) => listeners.forEach((listener) => listener(pair));
    server = new AdmissionServer({
      endpoint: { host: "127.0.0.1", port: 0 },
      certificate: { onPair: (listener) => void listeners.push(listener) },
      handler: new AdmissionHandler({
        webhooks: new Map([["/mutate-v1-pod", webhook]]),
        keys: () => ["key"],
        context: { clock, logger, metrics: { admission: () => undefined } },
        log: new RateLimitedLog(logger, clock),
      }),
      context: {
        clock,
        logger,
        metrics: {
          admissionTook: () => undefined,
          admissionsRefused: () => refused++,
          tls: { handshake: (result) => void handshakes.push(result) },
        },
      },
      lingerMs,
    });
    await server.listen();
    abort = new AbortController();
    running = server.run(abort.signal);
    usePair(await issue());
  }

  afterEach(async () => {
    agent.destroy();
    abort.abort();
    await running;
  });

  function send(body: string | Buffer, to = path, method = "POST"): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const sent = httpsRequest({ host: "127.0.0.1", port: server.port, path: to, method, agent, headers });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString(),
            connection: response.headers.connection,
            keepAlive: response.headers["keep-alive"],
          }),
        );
      });
      sent.end(method === "GET" ? undefined : body);
    });
  }

  it("answers reviews over HTTPS, with the query that API servers add", async () => {
    const answer = await send(reviewOf({}), `${path}?timeout=3s`);
    expect(answer.status).to.equal(200);
    expect(answer.keepAlive, "longer than API servers keep idle connections").to.equal("timeout=120");
    expect(JSON.parse(answer.body)).to.have.nested.property("response.allowed", true);
  });

  it("answers everything else with a sentence", async () => {
    expect(await send("{")).to.deep.include({ status: 400 });
    for (const wrong of ["/elsewhere", "/mutate-v1-pod", `${path}x`, "/"])
      expect(await send(reviewOf({}), wrong)).to.deep.include({
        status: 404,
        body: "There is no webhook at this path.\n",
        connection: "close",
      });
    expect(await send("", path, "GET")).to.deep.include({ status: 405 });
    review = () => {
      throw new Error("broken");
    };
    expect((await send(reviewOf({}))).status).to.equal(500);
  });

  it("takes a review of two megabytes, and refuses one of eight", async () => {
    let annotationBytes = 0;
    review = ({ object }) => {
      annotationBytes = JSON.stringify(object).length;
      return { isAllowed: true };
    };
    const large = { object: { metadata: { annotations: { text: "x".repeat(2_000_000) } } } };
    expect((await send(reviewOf(large))).status).to.equal(200);
    expect(annotationBytes).to.be.greaterThan(2_000_000);
    expect((await send("x".repeat(8 * 1024 * 1024))).status).to.equal(413);
    expect(refused).to.equal(1);
    expect((await send(reviewOf({}))).status).to.equal(200);
  });

  it("answers a small review while large ones wait for their turn, one at a time", async () => {
    const begun: number[] = [];
    let finish: (() => void) | undefined;
    review = ({ object }) => {
      const bytes = JSON.stringify(object).length;
      begun.push(bytes);
      if (bytes < 1_000) return { isAllowed: true };
      return new Promise((resolve) => {
        finish = () => resolve({ isAllowed: true });
      });
    };
    const large = reviewOf({ object: { text: "x".repeat(200_000) } });
    const waiting = [send(large), send(large)];
    await eventually(() => finish !== undefined, "the first large review is under way");
    expect((await send(reviewOf({}))).status).to.equal(200);
    expect(begun).to.have.length(2);
    finish?.();
    await waiting[0];
    await eventually(() => begun.length === 3, "the second large review is under way");
    finish?.();
    expect((await Promise.all(waiting)).map(({ status }) => status)).to.deep.equal([200, 200]);
  });

  it("serves new connections with a new certificate, and lets old ones go on", async () => {
    const open = async (): Promise<TLSSocket> => {
      const socket = connect({
        host: "127.0.0.1",
        port: server.port,
        ca: authority.cert,
        ALPNProtocols: ["h2", "http/1.1"],
      });
      await once(socket, "secureConnect");
      return socket;
    };
    const old = await open();
    usePair(await issue());
    const next = await open();
    expect(next.alpnProtocol).to.equal("http/1.1");
    expect(next.getPeerX509Certificate()?.serialNumber).to.not.equal(
      old.getPeerX509Certificate()?.serialNumber,
    );
    const body = reviewOf({});
    for (const socket of [old, next]) {
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).to.match(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    expect(handshakes).to.deep.equal(["done", "done"]);
  });

  it("asks who calls it to leave while it stops, and answers them on new connections as well", async () => {
    abort.abort();
    await running;
    const clock = new ManualClock();
    await start(clock, 3_000);
    expect((await send(reviewOf({}))).connection).to.not.equal("close");
    abort.abort();
    for (let i = 0; i < 3; i++) {
      const { status, connection } = await send(reviewOf({}));
      expect([status, connection]).to.deep.equal([200, "close"]);
    }
    expect(handshakes).to.deep.equal(["done", "resumed", "resumed"]);
    clock.advance(3_000);
    await running;
  });

  it("answers what is under way when it stops, and then accepts nobody", async () => {
    let finish: (() => void) | undefined;
    review = () =>
      new Promise((resolve) => {
        finish = () => resolve({ isAllowed: true });
      });
    const { port } = server;
    const answer = send(reviewOf({}));
    await eventually(() => finish !== undefined, "the review is under way");
    abort.abort();
    finish?.();
    expect((await answer).status).to.equal(200);
    await running;
    const socket = connect({ host: "127.0.0.1", port });
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    expect(error.code).to.equal("ECONNREFUSED");
  });
});

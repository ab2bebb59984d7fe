import { systemClock } from "@bunting/runtime";
import { eventually, listen, recordingLogger, releaseAfterEach } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { PeerMemory } from "../limits/peer-memory.js";
import { HttpExchange, type HttpExchangeOptions, type HttpRequestRecord } from "./http-exchange.js";
import { readBody } from "./request-body.js";

const maxBytes = 100_000;

/** What was counted, as words. */
class Counted {
  readonly records: (HttpRequestRecord & { readonly service: string; readonly route: string })[] = [];
  readonly refused: string[] = [];
  active = 0;

  httpRequest(service: string, route: string, record: HttpRequestRecord): void {
    this.records.push({ service, route, ...record });
  }

  httpActiveRequests(_route: string, _method: string, change: 1 | -1): void {
    this.active += change;
  }

  requestRefused(reason: string): void {
    this.refused.push(reason);
  }
}

describe("HttpExchange", () => {
  releaseAfterEach();

  /** A port that answers each request with the size of its body, as a webhook would. */
  const serve = async (options: Partial<HttpExchangeOptions> = {}) => {
    const metrics = new Counted();
    const memory = new PeerMemory(10 * 1024 * 1024);
    const heldBytes: number[] = [];
    const port = await listen({
      http: (request, response) => {
        const exchange = new HttpExchange(request, response, {
          service: "webhook",
          metrics,
          clock: systemClock,
          ...options,
        });
        exchange.route = "/review";
        if (!exchange.isAdmitted()) {
          exchange.refuse(401, {}, "who are you?");
          return;
        }
        request.on("data", () => heldBytes.push(memory.bytes));
        readBody(
          exchange,
          maxBytes,
          (body) => exchange.reply(200, { "content-type": "text/plain" }, `${exchange.path} ${body.length}`),
          (headers) => exchange.reply(413, headers, "too large"),
        );
      },
      logger: recordingLogger(),
      memory,
    });
    return { url: `http://127.0.0.1:${port.port}`, metrics, memory, heldBytes };
  };

  it("answers with the whole body read, charges it meanwhile, and counts the request under its service and route", async () => {
    const { url, metrics, memory, heldBytes } = await serve();
    const answer = await fetch(`${url}/review?timeout=10s`, { method: "POST", body: "x".repeat(90_000) });
    expect([answer.status, await answer.text()]).to.deep.equal([200, "/review 90000"]);
    expect(Math.max(...heldBytes) - Math.min(...heldBytes)).to.be.greaterThan(20_000);
    await eventually(() => metrics.active === 0, "the exchange is over");
    expect(metrics.records).to.have.length(1);
    expect(metrics.records[0]).to.include({
      service: "webhook",
      route: "/review",
      status: 200,
      requestBytes: 90_000,
    });
    expect(memory.bytes).to.be.at.most(Math.min(...heldBytes));
  });

  it("refuses a body that is too large at its end, and says so to the metrics", async () => {
    const { url, metrics } = await serve();
    const answer = await fetch(url, { method: "POST", body: "x".repeat(maxBytes + 1) });
    expect([answer.status, await answer.text()]).to.deep.equal([413, "too large"]);
    expect(metrics.refused).to.deep.equal(["message_size"]);
  });

  it("sends no headers of CORS without rules for them, and lets in whom the callers admit", async () => {
    const { url } = await serve({ callers: { admits: (authorization) => authorization === "Bearer a" } });
    const refused = await fetch(url, { headers: { origin: "http://elsewhere.example" } });
    expect(refused.status).to.equal(401);
    const admitted = await fetch(url, {
      headers: { authorization: "Bearer a", origin: "http://elsewhere.example" },
    });
    expect(admitted.status).to.equal(200);
    for (const { headers } of [refused, admitted]) {
      expect(headers.get("vary")).to.equal(null);
      expect(headers.get("access-control-allow-origin")).to.equal(null);
    }
  });
});

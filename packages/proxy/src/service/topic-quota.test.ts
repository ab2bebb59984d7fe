import { expect } from "chai";
import fc from "fast-check";
import type { TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RateLimitedLog } from "../rate-limited-log.js";
import { noMetrics } from "../proxy-metrics.js";
import { ProxyError } from "../proxy-error.js";
import { statusOf } from "./status-of.js";
import { TopicQuota } from "./topic-quota.js";

const session = (remoteAddress: string): TransportSession => ({ remoteAddress }) as TransportSession;
const topic = (number: number): TopicKey => `demo/flags-${number}`;

describe("a topic quota", () => {
  const clock = new ManualClock();
  let lines: string[];
  let refused: string[];

  function quotaOf(perConnection: number, perAddress: number): TopicQuota {
    lines = [];
    refused = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const metrics = { ...noMetrics, refused: (reason: string) => void refused.push(reason) };
    return new TopicQuota({ perConnection, perAddress, metrics, log: new RateLimitedLog(logger, clock) });
  }

  it("counts different topics, not streams", () => {
    const quota = quotaOf(2, 0);
    const one = session("10.0.0.1");
    for (let i = 0; i < 100; i++) quota.enter(one, topic(i % 2));
    expect(() => quota.enter(one, topic(2))).to.throw(ProxyError, "--max-topics-per-connection");
    quota.enter(session("10.0.0.1"), topic(2));
    for (let i = 0; i < 50; i++) quota.leave(one, topic(0));
    quota.enter(one, topic(2));
  });

  it("lets a thousand connections from one address share the topics of that address", () => {
    const quota = quotaOf(0, 3);
    for (let i = 0; i < 1_000; i++) quota.enter(session("10.0.0.1"), topic(i % 3));
    expect(() => quota.enter(session("10.0.0.1"), topic(3))).to.throw(ProxyError, "--max-topics-per-address");
    quota.enter(session("10.0.0.2"), topic(3));
  });

  it("does not count loopback and unix sockets by address: they may carry any client", () => {
    const quota = quotaOf(0, 1);
    for (const address of ["127.0.0.1", "127.0.0.6", "::1", "unix"])
      for (let i = 0; i < 10; i++) quota.enter(session(address), topic(i));
  });

  it("refuses with UNAVAILABLE and a pushback, counts each refusal, and logs one line per minute and limit", () => {
    const quota = quotaOf(1, 1);
    const one = session("10.0.0.1");
    quota.enter(one, topic(0));
    for (let i = 1; i <= 100; i++) {
      expect(() => quota.enter(one, topic(i)))
        .to.throw(ProxyError)
        .that.satisfies((error: ProxyError) => {
          const { code, trailers } = statusOf(error);
          const pushback = Number(trailers?.["grpc-retry-pushback-ms"]);
          return code === "UNAVAILABLE" && pushback >= 5_000 && pushback < 15_000;
        });
    }
    expect(() => quota.enter(session("10.0.0.1"), topic(1))).to.throw(ProxyError);
    expect(refused.filter((reason) => reason === "topics_per_connection")).to.have.length(100);
    expect(refused.at(-1)).to.equal("topics_per_address");
    expect(lines).to.have.length(2);
    clock.advance(60_000);
    expect(() => quota.enter(one, topic(1))).to.throw(ProxyError);
    expect(lines).to.have.length(3);
    expect(lines[2]).to.include('"suppressedSinceLast":99');
  });

  it("keeps nothing after all have left, refused or not", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3), fc.nat(5))), (visits) => {
        const quota = quotaOf(2, 3);
        const sessions = [session("10.0.0.1"), session("10.0.0.1"), session("10.0.0.2"), session("unix")];
        const entered: (() => void)[] = [];
        for (const [which, number] of visits) {
          const one = sessions[which] ?? session("");
          try {
            quota.enter(one, topic(number));
            entered.push(() => quota.leave(one, topic(number)));
          } catch (error) {
            expect(error).to.be.instanceOf(ProxyError);
          }
        }
        for (const leave of entered) leave();
        for (const one of sessions) for (const number of [10, 11]) quota.enter(one, topic(number));
      }),
    );
  });
});

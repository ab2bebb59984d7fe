import { expect } from "chai";
import fc from "fast-check";
import type { TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { noMetrics } from "../proxy-metrics.js";
import { ProxyError } from "../proxy-error.js";
import { statusOf } from "../service/status-of.js";
import { topicBytes, type TopicCharge } from "./topic-charge.js";
import { TopicQuota, type TopicQuotaOptions } from "./topic-quota.js";

class Account {
  bytes = 0;
  charge(bytes: number): void {
    this.bytes += bytes;
  }
  release(bytes: number): void {
    this.bytes -= bytes;
  }
}

const session = (remoteAddress: string): TransportSession =>
  ({ remoteAddress, account: new Account() }) as unknown as TransportSession;
const topic = (number: number): TopicKey => `demo/flags-${number}`;

/** A quota, and the charges of the topics that were subscribed to. */
class Quota {
  readonly #quota: TopicQuota;
  readonly #charges = new Map<TopicKey, TopicCharge>();

  constructor(options: TopicQuotaOptions) {
    this.#quota = new TopicQuota(options);
  }

  enter(connection: TransportSession, key: TopicKey): void {
    this.#quota.check(connection, this.#charges.get(key));
    const charge = this.#charges.get(key) ?? this.#quota.open();
    this.#charges.set(key, charge);
    charge.add(connection);
  }

  leave(connection: TransportSession, key: TopicKey): void {
    this.#charges.get(key)?.delete(connection);
  }

  end(key: TopicKey): void {
    this.#charges.get(key)?.close();
    this.#charges.delete(key);
  }
}

describe("a topic quota", () => {
  const clock = new ManualClock();
  let lines: string[];
  let refused: string[];

  function quotaOf(perConnection: number, perAddress: number): Quota {
    lines = [];
    refused = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const metrics = { ...noMetrics, refused: (reason: string) => void refused.push(reason) };
    return new Quota({ perConnection, perAddress, metrics, log: new RateLimitedLog(logger, clock) });
  }

  it("counts different topics, not streams", () => {
    const quota = quotaOf(2, 0);
    const one = session("10.0.0.1");
    for (let i = 0; i < 100; i++) quota.enter(one, topic(i % 2));
    expect(() => quota.enter(one, topic(2))).to.throw(ProxyError, "--max-topics-per-connection");
    quota.enter(session("10.0.0.1"), topic(2));
    for (let i = 0; i < 50; i++) quota.leave(one, topic(0));
    quota.end(topic(0));
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
    for (const address of ["127.0.0.1", "127.0.0.6", "::1", "::6", "unix"])
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

  it("charges a topic without subscribers to the connection that left it last, until it ends", () => {
    const quota = quotaOf(1, 2);
    const [one, two, three] = [session("10.0.0.1"), session("10.0.0.1"), session("10.0.0.1")];
    quota.enter(one, topic(0));
    quota.leave(one, topic(0));
    expect(() => quota.enter(one, topic(1))).to.throw(ProxyError, "--max-topics-per-connection");
    quota.enter(one, topic(0));
    quota.leave(one, topic(0));
    quota.enter(two, topic(1));
    quota.leave(two, topic(1));
    expect(() => quota.enter(three, topic(2))).to.throw(ProxyError, "--max-topics-per-address");
    quota.end(topic(0));
    quota.enter(one, topic(2));
    expect(() => quota.enter(three, topic(3))).to.throw(ProxyError, "--max-topics-per-address");
    quota.end(topic(1));
    quota.enter(three, topic(3));
  });

  it("charges it to the next subscriber instead, and not to a connection that left while others were subscribed", () => {
    const quota = quotaOf(1, 0);
    const [one, two] = [session("10.0.0.1"), session("10.0.0.2")];
    quota.enter(one, topic(0));
    quota.leave(one, topic(0));
    quota.enter(two, topic(0));
    quota.enter(one, topic(1));
    quota.enter(two, topic(0));
    quota.leave(two, topic(0));
    expect(() => quota.enter(two, topic(2))).to.throw(ProxyError);
    quota.leave(two, topic(0));
    expect(() => quota.enter(two, topic(2))).to.throw(ProxyError);
  });

  it("keeps nothing after all topics have ended, refused or not, and charges the memory of each to one connection", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3), fc.nat(5), fc.boolean())), (visits) => {
        const quota = quotaOf(2, 3);
        const sessions = [session("10.0.0.1"), session("10.0.0.1"), session("10.0.0.2"), session("unix")];
        const entered: [TransportSession, TopicKey][] = [];
        for (const [which, number, isLeaving] of visits) {
          const one = sessions[which] ?? session("");
          try {
            quota.enter(one, topic(number));
            if (isLeaving) quota.leave(one, topic(number));
            else entered.push([one, topic(number)]);
          } catch (error) {
            expect(error).to.be.instanceOf(ProxyError);
          }
          const charged = sessions.reduce((sum, { account }) => sum + account.bytes, 0);
          expect(charged % topicBytes).to.equal(0);
          const alive = new Set(entered.map(([, key]) => key)).size;
          expect(charged / topicBytes).to.be.within(alive, 6);
        }
        for (const [one, key] of entered) quota.leave(one, key);
        for (let number = 0; number <= 5; number++) quota.end(topic(number));
        for (const { account } of sessions) expect(account.bytes).to.equal(0);
        for (const one of sessions) for (const number of [10, 11]) quota.enter(one, topic(number));
      }),
    );
  });
});

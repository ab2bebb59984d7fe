import { expect } from "chai";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { noMetrics } from "../proxy-metrics.js";
import { CheckedAccess } from "./checked-access.js";
import { decisionBytes, maxPerConnection } from "./waiting-decisions.js";

const selector = "demo/flags" as TopicKey;
const identity: Identity = { kind: "pod-ip", namespace: "demo", serviceAccount: "checkout" };

describe("calls that wait until it is known who makes them", () => {
  let decisions: (() => void)[];
  let server: SyncServer;
  let client: StockSyncClient;
  const heldBytes = (): number => {
    let bytes = 0;
    for (const { account } of server.listener.sessions) bytes += account.bytes;
    return bytes;
  };

  beforeEach(async () => {
    decisions = [];
    const clock = new ManualClock();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const access = new CheckedAccess({
      authenticators: [{ identify: () => new Promise((resolve) => decisions.push(() => resolve(identity))) }],
      wanted: "a token",
      allowsAnonymous: false,
      context: { clock, metrics: noMetrics, log: new RateLimitedLog(logger, clock) },
    });
    server = await new SyncServer({ access }).start();
    server.source.publish(selector, { flags: { f: { state: "v1" } } });
    client = new StockSyncClient(`127.0.0.1:${server.port}`);
  });

  afterEach(async () => {
    client.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    await server.stop();
  });

  it("are charged to their connection, and refused for now where it has too many: streams and FetchAllFlags", async () => {
    const streams = Array.from({ length: maxPerConnection - 1 }, () => client.subscribe({ selector }));
    const fetched = client.fetchAll(selector);
    await eventually(() => decisions.length === maxPerConnection, "all of them to wait");
    const beforeBytes = heldBytes();
    expect(beforeBytes).to.be.at.least(maxPerConnection * decisionBytes);

    const { code, details } = await client.subscribe({ selector }).ended;
    expect(code).to.equal(grpcStatus.UNAVAILABLE);
    expect(details).to.contain("this connection has 256 calls and subscriptions that wait");
    const error: unknown = await client.fetchAll(selector, true).catch((reason: unknown) => reason);
    expect(error).to.have.property("code", grpcStatus.UNAVAILABLE);

    for (const decide of decisions.splice(0)) decide();
    expect(await fetched).to.include("v1");
    for (const stream of streams) await stream.messages.nextEvent();
    expect(heldBytes()).to.be.at.most(beforeBytes - (maxPerConnection * decisionBytes) / 2);
    const next = client.subscribe({ selector });
    await eventually(() => decisions.length === 1, "the next one to wait");
    for (const stream of [...streams, next]) stream.cancel();
    for (const decide of decisions) decide();
  });

  it("count until they are decided, although their callers have gone", async () => {
    for (let round = 1; round <= 4; round++) {
      const streams = Array.from({ length: maxPerConnection / 4 }, () => client.subscribe({ selector }));
      await eventually(() => decisions.length === (round * maxPerConnection) / 4, "all of them to wait");
      for (const stream of streams) stream.cancel();
    }
    expect((await client.subscribe({ selector }).ended).code).to.equal(grpcStatus.UNAVAILABLE);
    for (const decide of decisions.splice(0)) decide();
    const stream = client.subscribe({ selector });
    await eventually(() => decisions.length === 1, "a stream that waits");
    for (const decide of decisions) decide();
    await stream.messages.nextEvent();
    stream.cancel();
  });
});

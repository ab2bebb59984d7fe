import { expect } from "chai";
import { status as grpcStatus, type ServiceError } from "@grpc/grpc-js";
import type { FlagDocument } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import {
  StockSyncClient,
  type SubscribeOptions,
  type SyncMessage,
  type SyncSubscription,
} from "@bunting/test/support/stock-sync-client.js";
import { SyncServer, type SyncServerOptions } from "@bunting/test/support/sync-server.js";

const selector = "core.openfeature.dev/demo/flags";
const expectedForm = "expected core.openfeature.dev/<namespace>/<name> or <namespace>/<name>";

function version(number: number): FlagDocument {
  return { flags: { f: { state: `v${number}` } } };
}

function nextMessage(stream: SyncSubscription): Promise<SyncMessage> {
  return stream.messages.nextEvent("a document");
}

async function nextText(stream: SyncSubscription): Promise<string> {
  return (await nextMessage(stream)).text;
}

describe("the sync services", () => {
  let server: SyncServer;
  let client: StockSyncClient;
  const streams: SyncSubscription[] = [];

  async function start(options: SyncServerOptions = {}): Promise<void> {
    server = await new SyncServer(options).start();
    client = new StockSyncClient(`127.0.0.1:${server.port}`);
  }

  async function restart(options: SyncServerOptions): Promise<void> {
    client.close();
    await server.stop();
    await start(options);
  }

  function subscribe(options: SubscribeOptions): SyncSubscription {
    const stream = client.subscribe(options);
    streams.push(stream);
    return stream;
  }

  beforeEach(() => start());

  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.cancel();
    client.close();
    try {
      await eventually(() => server.listener.sessions.size === 0, "connections closed");
      for (const topic of server.topics.topics()) expect(topic.size).to.equal(0);
    } finally {
      await server.stop();
    }
    expect(server.topics.size).to.equal(0);
    expect(server.source.watchCount).to.equal(0);
  });

  for (const legacy of [false, true]) {
    describe(legacy ? "sync.v1" : "flagd.sync.v1", () => {
      it("sends the first snapshot exactly once, then only different ones", async () => {
        server.source.publish("demo/flags", version(1));
        const stream = subscribe({ selector, legacy });
        expect(await nextText(stream)).to.equal('{"flags":{"f":{"state":"v1"}}}');
        server.source.publish("demo/flags", version(1));
        await client.fence();
        expect(stream.messages.size).to.equal(0);
        server.source.publish("demo/flags", version(2));
        expect(await nextText(stream)).to.include("v2");
      });

      it("answers an invalid selector with INVALID_ARGUMENT and the expected form", async () => {
        for (const bad of ["", "flags", "file:/etc/passwd", "a/b/c"]) {
          const { code, details } = await subscribe({ selector: bad, legacy }).ended;
          expect(code).to.equal(grpcStatus.INVALID_ARGUMENT);
          expect(details).to.include(expectedForm);
          const error = await client.fetchAll(bad, legacy).catch((reason: unknown) => reason);
          expect(error).to.have.property("code", grpcStatus.INVALID_ARGUMENT);
        }
      });

      it("sends headers at once to a held stream, and the document when there is one", async () => {
        const stream = subscribe({ selector, legacy });
        expect(await stream.headers).to.exist;
        await eventually(() => server.logs.length === 1, "the warning");
        expect(server.logs[0]).to.include("does not exist").and.include("demo/flags");
        await client.fence();
        expect(stream.messages.size).to.equal(0);
        server.source.publish("demo/flags", version(1));
        expect(await nextText(stream)).to.include("v1");
      });

      it("serves FetchAllFlags, and waits for a document that does not exist yet", async () => {
        const waiting = client.fetchAll(selector, legacy);
        await eventually(() => server.source.watchCount === 1, "the watch");
        server.source.publish("demo/flags", version(1));
        expect(await waiting).to.equal('{"flags":{"f":{"state":"v1"}}}');
        expect(await client.fetchAll("demo/flags", legacy)).to.include("v1");
      });
    });
  }

  it("always sets sync_context in flagd.sync.v1, and state = ALL in sync.v1", async () => {
    server.source.publish("demo/flags", version(1));
    const current = await nextMessage(subscribe({ selector }));
    expect(current).to.include({ text: '{"flags":{"f":{"state":"v1"}}}', state: undefined });
    expect(current.syncContext).to.deep.equal({});
    expect(await nextMessage(subscribe({ selector, legacy: true }))).to.include({ state: 1 });
  });

  it("answers GetMetadata with the same empty context", async () => {
    expect(await client.metadata()).to.deep.equal({});
  });

  it("takes the selector from the header, which wins over the message unless it is empty", async () => {
    server.source.publish("demo/flags", version(1));
    server.source.publish("demo/others", version(2));
    expect(await nextText(subscribe({ header: "demo/flags" }))).to.include("v1");
    expect(await nextText(subscribe({ header: "demo/others", selector }))).to.include("v2");
    expect(await nextText(subscribe({ header: "", selector }))).to.include("v1");
    const { code } = await subscribe({ header: "nonsense", selector }).ended;
    expect(code).to.equal(grpcStatus.INVALID_ARGUMENT);
  });

  it("ends FetchAllFlags with NOT_FOUND if there is nothing after 5 s", async () => {
    const clock = new ManualClock();
    await restart({ context: { clock } });
    const failing = client.fetchAll(selector).catch((reason: unknown) => reason as ServiceError);
    await eventually(() => server.source.watchCount === 1, "the watch");
    clock.advance(4_999);
    expect(clock.pendingTimers).to.equal(1);
    clock.advance(1);
    const error = await failing;
    expect(error).to.have.property("code", grpcStatus.NOT_FOUND);
    expect(error).to.have.property("details").that.includes("there is no FeatureFlag demo/flags");
  });

  it("ends streams and FetchAllFlags with NOT_FOUND by the missing policy fail", async () => {
    await restart({ missingPolicy: "fail" });
    for (let i = 0; i < 3; i++) {
      const { code, details } = await subscribe({ selector }).ended;
      expect(code).to.equal(grpcStatus.NOT_FOUND);
      expect(details).to.include("demo/flags does not exist");
    }
    const error = await client.fetchAll(selector).catch((reason: unknown) => reason);
    expect(error).to.have.property("code", grpcStatus.NOT_FOUND);
    server.source.publish("demo/flags", version(1));
    expect(await nextText(subscribe({ selector }))).to.include("v1");
  });

  it("ends streams with NOT_FOUND after the grace of a deletion, by the policy close, and holds new ones", async () => {
    const clock = new ManualClock();
    await restart({ context: { clock }, deletionPolicy: "close" });
    server.source.publish("demo/flags", version(1));
    const before = subscribe({ selector });
    await nextText(before);
    server.source.delete("demo/flags");
    expect(await nextText(subscribe({ selector }))).to.include("v1");
    clock.advance(60_000);
    expect(await before.ended).to.include({ code: grpcStatus.NOT_FOUND });
    const after = subscribe({ selector });
    expect(await after.headers).to.exist;
    server.source.publish("demo/flags", version(2));
    expect(await nextText(after)).to.include("v2");
  });

  it("does not wedge a FeatureFlag that is subscribed before it exists by a client that leaves and returns", async () => {
    const clock = new ManualClock();
    await restart({ context: { clock } });
    for (const awayMs of [0, 29_999, 30_000, 90_000]) {
      const topic = `demo/flags-${awayMs}` as const;
      const left = subscribe({ selector: topic });
      await left.headers;
      left.cancel();
      await eventually(
        () => [...server.topics.topics()].every(({ key, size }) => key !== topic || size === 0),
        "the client's leave",
      );
      clock.advance(awayMs);
      const returned = subscribe({ selector: topic });
      await returned.headers;
      server.source.publish(topic, version(1));
      expect(await nextText(returned)).to.include("v1");
    }
  });

  it("flushes the newest version to a stream that drains, then ends it with UNAVAILABLE", async () => {
    server.source.publish("demo/flags", version(1));
    const stream = subscribe({ selector });
    const held = subscribe({ selector: "demo/absent" });
    await nextText(stream);
    await held.headers;
    server.source.publish("demo/flags", version(2));
    const open = [...server.listener.sessions].flatMap((session) => [...session.streams]);
    expect(open).to.have.length(2);
    for (const one of open) {
      expect(server.flagSync.drain(one, { code: "UNAVAILABLE", message: "shutting down" })).to.be.true;
    }
    expect(await nextText(stream)).to.include("v2");
    expect(await stream.ended).to.include({ code: grpcStatus.UNAVAILABLE, details: "shutting down" });
    expect(await held.ended).to.include({ code: grpcStatus.UNAVAILABLE });
    const [gone] = open;
    if (gone !== undefined) {
      await eventually(() => !gone.isOpen, "the stream's close");
      expect(server.flagSync.drain(gone, { code: "UNAVAILABLE", message: "" })).to.be.false;
    }
  });
});

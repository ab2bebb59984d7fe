import { hostname } from "node:os";
import { buntingSyncV1, encodeDocument, type FlagDocument } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { Signal } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { writeResponse, type Response } from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import { BuntingServer, flagdFrame, StoreProbe, topic, versionOf } from "./bunting-server.fixture.js";
import { GrpcSource } from "./grpc-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { FailingFlag } from "./sync-source.js";
import type { SourceState } from "./source-state.js";
import { grpcConfig, partsOf } from "./sync.fixture.js";

const on = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const one: FlagDocument = { flags: { a: on } };
const two: FlagDocument = { flags: { a: on, b: on } };
const three: FlagDocument = { flags: { a: on, b: on, c: on } };
const { DELETION_POLICY_KEEP, DELETION_POLICY_EMPTY, DELETION_POLICY_CLOSE } = buntingSyncV1.DeletionPolicy;

/** From `one` to `two`. */
const added: Response = {
  delta: {
    topic,
    fromDigest: versionOf(one).digest,
    version: versionOf(two, { resourceVersion: "2" }),
    flags: [
      {
        key: "b",
        flag: Buffer.from(JSON.stringify({ defaultVariant: "on", state: "ENABLED", variants: { on: true } })),
      },
    ],
  },
};

interface Running {
  readonly source: SourceState;
  readonly probe: StoreProbe;
  readonly stop: () => Promise<void>;
}

describe("GrpcSource over bunting.sync.v1", () => {
  let servers: BuntingServer[];
  let running: Running[];
  beforeEach(() => {
    servers = [];
    running = [];
  });
  afterEach(async () => {
    try {
      for (const each of running) await each.stop();
      for (const { relay } of servers)
        await eventually(() => relay.open === 0, "no connection of the source is left");
    } finally {
      for (const server of servers) await server.stop();
    }
  });

  function serverThat(speaks?: ConstructorParameters<typeof BuntingServer>[0]): BuntingServer {
    const server = new BuntingServer(speaks);
    servers.push(server);
    return server;
  }

  function run(fields: Partial<GrpcSourceConfig> & { target: string }, probe = new StoreProbe()): Running {
    const parts = partsOf(grpcConfig(fields.target, { selector: topic, ...fields }), probe.options);
    const abort = new AbortController();
    const ended = new GrpcSource(parts).run(abort.signal);
    const each: Running = {
      source: parts.state,
      probe,
      stop: () => {
        abort.abort();
        return ended;
      },
    };
    running.push(each);
    return each;
  }

  describe("a stream", () => {
    it("begins with the name of the agent, then the topic, of which nothing is held", async () => {
      const server = serverThat();
      run({
        target: await server.start(),
        selector: `core.openfeature.dev/${topic}`,
        providerId: "agent-7",
        headers: { authorization: "Bearer x" },
      });
      const stream = await server.nextStream();
      expect(stream.out.header("authorization")).to.equal("Bearer x");
      const hello = await stream.next("hello");
      expect(hello.providerId).to.equal("agent-7");
      expect(hello.agent).to.match(/^bunting-agent\/\d/);
      expect(hello.instance).to.equal(hostname());
      expect(await stream.next("subscribe")).to.deep.equal({
        topic,
        held: undefined,
        trialDigest: undefined,
      });
    });

    it("says what a proxy reports of its own source, on each stream anew", async () => {
      const server = serverThat();
      const { source, probe } = run({ target: await server.start() });
      const stream = await server.nextStream();
      expect(await stream.next("hello")).to.include({ readsFreshness: true });
      await stream.next("subscribe");
      const { STALE_CAUSE_REFUSED } = buntingSyncV1.StaleCause;
      const freshness = { topic, isStale: true, reason: "403 Forbidden", cause: STALE_CAUSE_REFUSED };
      stream.send({ freshness });
      const told = (text: RegExp | undefined, what: string): Promise<void> =>
        eventually(
          () => text?.test(source.status().proxyLost ?? "") ?? source.status().proxyLost === undefined,
          what,
        );
      await told(/refused .*: 403 Forbidden$/, "the reason");
      expect(source.status()).to.include({ state: "connected", cause: "refused" });
      expect(probe.messages).to.deep.equal(["freshness"]);
      stream.send({ freshness: { topic, isStale: false, reason: "", cause: 0 } });
      await told(undefined, "it follows again");
      // As from a proxy of 0.1.0.
      stream.send({ freshness: { ...freshness, cause: 0 } });
      await told(/can't reach .*: 403 Forbidden$/, "the reason without a cause");
      stream.end("UNAVAILABLE");
      const second = await server.nextStream();
      await second.subscribed();
      await second.snapshot(one);
      await told(undefined, "nothing was said on this stream");
    });

    it("does not take flags for the newest, on a next stream either, before the proxy may have said that it can't follow", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      const contacts: boolean[] = [];
      const contact = (_: number, isConfirmed: boolean): void => void contacts.push(isConfirmed);
      Object.assign(probe.options, { receiver: { ...probe.options.receiver, contact } });
      const { source } = run({ target: await server.start() }, probe);
      const cause = buntingSyncV1.StaleCause.STALE_CAUSE_UNREACHABLE;
      const freshness = { topic, isStale: true, reason: "away", cause };
      const first = await server.nextStream();
      await first.subscribed();
      await first.snapshot(one);
      first.send({ freshness });
      await eventually(() => contacts.includes(false), "it is not known");
      first.end("UNAVAILABLE");
      const second = await server.nextStream();
      await second.subscribed();
      second.send({ unchanged: { topic, version: versionOf(one) } });
      await second.next("ack");
      second.send({ freshness });
      await eventually(() => probe.messages.filter((kind) => kind === "freshness").length === 2, "again");
      expect(contacts.slice(contacts.indexOf(false))).not.to.include(true);
      expect(source.status().proxyLost).to.contain("away");
    });

    it("complains of a flag in a second answer, again on the next stream, also of what it found without one", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      const failing = new Signal<FailingFlag>();
      const receiver = { ...probe.options.receiver, failing };
      const { sourceIndex } = grpcConfig("");
      Object.assign(probe.options, { receiver });
      run({ target: await server.start() }, probe);
      const stream = await server.nextStream();
      await stream.subscribed();
      expect((await stream.snapshot(one)).ack?.rejectedFlags).to.deep.equal([]);
      const keys = ({ rejectedFlags }: buntingSyncV1.Ack): unknown => rejectedFlags.map(({ key }) => key);
      failing.emit({ sourceIndex: sourceIndex + 1, key: "other", reason: "it is of another source" });
      failing.emit({ sourceIndex, key: "a", reason: "fails" });
      const second = await stream.next("ack");
      expect([second.number, second.digest, keys(second)]).to.deep.equal(["1", versionOf(one).digest, ["a"]]);
      stream.end("UNAVAILABLE");
      await stream.closed;
      failing.emit({ sourceIndex, key: "b", reason: "fails" });
      const next = await server.nextStream();
      await next.subscribed();
      next.send({ unchanged: { topic, version: versionOf(one) } });
      expect(keys(await next.next("ack")), "the version is served as it is").to.deep.equal([]);
      expect(keys(await next.next("ack"))).to.deep.equal(["a", "b"]);
    });

    it("takes no notice of what is for proxies, but counts it", async () => {
      const server = serverThat();
      const { probe } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      stream.send({ tier: { proxies: ["p"], depth: 1 } });
      const past = { digest: Buffer.alloc(32), flags: ["a"], metadata: false, evaluators: false };
      stream.send({ history: { topic, digest: versionOf(one).digest, versions: [past] } });
      const { ack } = await stream.snapshot(one);
      expect(ack).to.deep.include({ number: "3", digest: versionOf(one).digest });
      expect(await probe.nextDocument()).to.equal(encodeDocument(one));
    });

    it("delivers a snapshot, then the result of a delta, and acknowledges both", async () => {
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      expect(await stream.snapshot(one)).to.deep.equal({
        ack: { topic, number: "1", digest: versionOf(one).digest, rejectedFlags: [] },
      });
      expect(await probe.nextDocument()).to.equal(encodeDocument(one));
      stream.send(added);
      expect((await stream.next("ack")).digest.equals(versionOf(two).digest)).to.equal(true);
      expect(await probe.nextDocument()).to.equal(encodeDocument(two));
      expect(source.status()).to.include({
        state: "connected",
        protocol: "bunting.sync.v1",
        error: undefined,
      });
      expect(probe.messages).to.deep.equal(["snapshot", "delta"]);
      expect(server.flagdStreams.size).to.equal(0);
    });

    it("answers a message by its place among all messages of the stream, from 1 on each stream", async () => {
      const server = serverThat();
      run({ target: await server.start() });
      const first = await server.nextStream();
      await first.subscribed();
      first.send({ missing: { topic } });
      first.send({ heartbeat: {} });
      first.send({ unchanged: { topic: "demo/other", version: versionOf(one) } });
      // Of a kind that this agent does not know.
      first.out.write(frameMessage(Buffer.from("7a021234", "hex")));
      expect((await first.snapshot(one)).ack?.number).to.equal("5");
      first.send(added);
      expect((await first.next("ack")).number).to.equal("6");
      first.send(added);
      expect((await first.next("nack")).number).to.equal("7");
      first.end("UNAVAILABLE");
      const second = await server.nextStream();
      await second.subscribed();
      second.send({ unchanged: { topic, version: versionOf(two) } });
      expect((await second.next("ack")).number).to.equal("1");
    });

    it("asks for a snapshot by a nack if a delta does not start from the document it holds", async () => {
      const server = serverThat();
      const { probe } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(three);
      stream.send(added);
      const nack = await stream.next("nack");
      expect(nack).to.include({ topic, isDeltaMismatch: true });
      expect(nack.heldDigest.equals(versionOf(three).digest)).to.equal(true);
      expect(probe.text).to.equal(encodeDocument(three));
      expect(await stream.snapshot(two)).to.have.property("ack");
      expect(probe.text).to.equal(encodeDocument(two));
      expect(probe.nacks).to.deep.equal(["mismatch"]);
    });

    it("says in a nack why a document was refused, and stays", async () => {
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(one);
      stream.send({ snapshot: { topic, version: versionOf(two), document: Buffer.from("[]") } });
      const nack = await stream.next("nack");
      expect(source.status().warning).to.contain(
        "its newest document is refused: this is not a flag document",
      );
      expect(nack).to.include({ isDeltaMismatch: false });
      expect(nack.reason).to.contain("this is not a flag document");
      expect(nack.heldDigest.equals(versionOf(one).digest)).to.equal(true);
      expect(probe.text).to.equal(encodeDocument(one));
      stream.send(added);
      expect(await stream.next("ack")).to.have.property("topic", topic);
      expect(source.status().warning).to.equal(undefined);
      expect(probe.nacks).to.deep.equal(["refused"]);
    });

    it("names in the ack the flags that can't be served, and why", async () => {
      const server = serverThat();
      run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      const { ack } = await stream.snapshot({ flags: { a: on, bad: { ...on, defaultVariant: "none" } } });
      expect(ack?.rejectedFlags.map(({ key }) => key)).to.deep.equal(["bad"]);
      expect(ack?.rejectedFlags[0]?.reason).to.contain("none");
    });

    it("ignores messages of other topics, and those of a later protocol", async () => {
      const server = serverThat();
      const { probe } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      const other = {
        topic: "demo/other",
        version: versionOf(two),
        document: Buffer.from(encodeDocument(two)),
      };
      stream.send({ snapshot: other });
      stream.out.write(frameMessage(Buffer.from([0x7a, 0x00])));
      stream.send({ heartbeat: {} });
      await stream.snapshot(one);
      expect(probe.text).to.equal(encodeDocument(one));
      expect(probe.deliveries.size).to.equal(1);
      expect(stream.requests.size).to.equal(0);
    });

    it("ends on an invalid message, and is opened again", async () => {
      const server = serverThat();
      const { source } = run({ target: await server.start() });
      const stream = await server.nextStream();
      stream.out.write(frameMessage(Buffer.from([0x12, 0x7f, 0x00])));
      await server.nextStream();
      expect(source.status().error).to.equal("received an invalid SyncResponse: the message is cut off");
    });

    it("rejects if `deliver` throws", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      const deliver = (): never => {
        throw new TypeError("a bug");
      };
      const config = grpcConfig(await server.start(), { selector: topic });
      const options = { ...probe.options, receiver: { ...probe.options.receiver, deliver } };
      const ended = new GrpcSource(partsOf(config, options))
        .run(new AbortController().signal)
        .catch((error: unknown) => error);
      const stream = await server.nextStream();
      stream.send({
        snapshot: { topic, version: versionOf(one), document: Buffer.from(encodeDocument(one)) },
      });
      expect(await ended).to.be.instanceOf(TypeError);
    });
  });

  describe("what is held", () => {
    const version = { uid: "u-1", generation: "7", resourceVersion: "4711" };

    it("is offered with the proxy's version when the stream is opened again, and is not sent again", async () => {
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() });
      const first = await server.nextStream();
      await first.subscribed();
      await first.snapshot(one, version);
      first.end("UNAVAILABLE", "draining");
      const second = await server.nextStream();
      expect((await second.subscribed()).held).to.deep.equal(versionOf(one, version));
      expect(source.status().state).to.equal("disconnected");
      second.send({ unchanged: { topic, version: versionOf(one, { ...version, resourceVersion: "4712" }) } });
      expect((await second.next("ack")).digest.equals(versionOf(one).digest)).to.equal(true);
      expect(source.status().state).to.equal("connected");
      expect(probe.confirmed).to.have.length(1);
      expect(probe.deliveries.size).to.equal(1);
      second.end("UNAVAILABLE");
      const third = await server.nextStream();
      expect((await third.subscribed()).held?.resourceVersion).to.equal("4712");
    });

    it("is offered if it was loaded from disk, by its digest if no more is known", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      probe.store.replace(2, Buffer.from(encodeDocument(one)));
      const { source } = run({ target: await server.start() }, probe);
      const stream = await server.nextStream();
      expect((await stream.subscribed()).held).to.deep.equal(versionOf(one));
      expect(source.status().lastUpdate).to.equal(undefined);
      stream.send(added);
      await stream.next("ack");
      expect(probe.text).to.equal(encodeDocument(two));
      expect(source.status().lastUpdate).to.be.closeTo(Date.now(), 60_000);
    });

    it("counts as confirmed by an unchanged, without a document", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      probe.store.replace(2, Buffer.from(encodeDocument(one)));
      const { source } = run({ target: await server.start() }, probe);
      const stream = await server.nextStream();
      await stream.subscribed();
      stream.send({ unchanged: { topic, version: versionOf(one) } });
      await stream.next("ack");
      expect(source.status().lastUpdate).to.be.closeTo(Date.now(), 60_000);
    });
  });

  describe("a topic", () => {
    it("that is missing leaves the flags as they are; its stream stays open and the topic may come", async () => {
      const server = serverThat();
      const probe = new StoreProbe();
      probe.store.replace(2, Buffer.from(encodeDocument(one)));
      const { source } = run({ target: await server.start() }, probe);
      const stream = await server.nextStream();
      await stream.subscribed();
      stream.send({ missing: { topic } });
      await eventually(
        () => source.status().warning?.includes(`no FeatureFlag ${topic}`) === true,
        "the warning",
      );
      expect(source.status()).to.include({ state: "connected", error: undefined });
      expect(probe.text).to.equal(encodeDocument(one));
      expect(stream.requests.size).to.equal(0);
      await stream.snapshot(two);
      expect(probe.text).to.equal(encodeDocument(two));
      expect(source.status().warning).to.equal(undefined);
    });

    for (const [name, policy] of [
      ["keep", DELETION_POLICY_KEEP],
      ["close", DELETION_POLICY_CLOSE],
      ["a policy of later", 9 as buntingSyncV1.DeletionPolicy],
    ] as const) {
      it(`that was deleted with ${name} is still served`, async () => {
        const server = serverThat();
        const { probe, source } = run({ target: await server.start() });
        const stream = await server.nextStream();
        await stream.subscribed();
        await stream.snapshot(one);
        stream.send({ deleted: { topic, policy } });
        await eventually(() => source.status().warning?.includes("was deleted") === true, "the warning");
        expect(probe.text).to.equal(encodeDocument(one));
        expect(stream.requests.size).to.equal(0);
        stream.send(added);
        await stream.next("ack");
        expect(probe.text).to.equal(encodeDocument(two));
      });
    }

    it("that was deleted with empty is no longer served and removed from disk, and is served again when it returns", async () => {
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(one);
      await probe.nextDocument();
      stream.send({ deleted: { topic, policy: DELETION_POLICY_EMPTY } });
      expect(await probe.deliveries.nextEvent()).to.include({ isDeletion: true });
      expect(probe.text).to.equal('{"flags":{}}');
      expect(source.status()).to.include({ state: "connected" });
      expect(source.status().warning).to.contain("no flags are served");
      // The proxy may not think of that, and go on from what it knows was held.
      stream.send(added);
      expect(await stream.next("nack")).to.include({ isDeltaMismatch: true });
      await stream.snapshot(two);
      expect(probe.text).to.equal(encodeDocument(two));
    });

    it("that is refused is asked for again on the same stream, when the proxy says", async () => {
      const clock = new ManualClock();
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() }, new StoreProbe(clock));
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(one, { uid: "u" });
      stream.send({ topicError: { topic, code: 8, message: "too many topics", retryAfterMs: 7_000 } });
      await probe.failure("resource_exhausted");
      expect(source.status()).to.include({
        state: "disconnected",
        error: `the proxy refused ${topic}: RESOURCE_EXHAUSTED: too many topics`,
      });
      expect(probe.text).to.equal(encodeDocument(one));
      const { pendingTimers } = clock;
      clock.advance(6_999);
      expect(clock.pendingTimers, "no timer has fired").to.equal(pendingTimers);
      clock.advance(1);
      expect(clock.pendingTimers).to.equal(pendingTimers - 1);
      expect((await stream.next("subscribe")).held).to.deep.equal(versionOf(one, { uid: "u" }));
      stream.send({ heartbeat: {} });
      stream.send({ unchanged: { topic, version: versionOf(one, { uid: "u" }) } });
      await stream.next("ack");
      expect(source.status()).to.include({ state: "connected", error: undefined });
      expect(server.streams.size).to.equal(0);
    });

    it("that is refused without a time is asked for less and less often, once at a time", async () => {
      const clock = new ManualClock();
      const server = serverThat();
      const { probe } = run({ target: await server.start() }, new StoreProbe(clock));
      const stream = await server.nextStream();
      await stream.subscribed();
      const refusal = { topicError: { topic, code: 7, message: "no", retryAfterMs: 0 } };
      stream.send(refusal);
      for (const [i, boundMs] of [150, 187, 234, 292].entries()) {
        // Two of them are one reason to ask again.
        if (i === 2) stream.send(refusal);
        const failures = i < 2 ? i + 1 : i + 2;
        await eventually(() => probe.failures.length === failures, `refusal ${failures}`);
        if (i === 2) {
          clock.advance(10_000);
        } else {
          const { pendingTimers } = clock;
          clock.advance(boundMs / 2 - 1);
          expect(clock.pendingTimers, "no timer has fired").to.equal(pendingTimers);
          clock.advance(boundMs * 2);
        }
        await stream.next("subscribe");
        expect(stream.requests.size).to.equal(0);
        stream.send(refusal);
      }
    });
  });

  describe("a refusal after 10 s of a stream that works", () => {
    it("is handled like the first one", async () => {
      const clock = new ManualClock();
      const server = serverThat();
      const { probe } = run({ target: await server.start() }, new StoreProbe(clock));
      const stream = await server.nextStream();
      await stream.subscribed();
      for (let refusals = 1; refusals <= 4; refusals++) {
        await stream.snapshot(one);
        clock.advance(10_000);
        stream.send({ topicError: { topic, code: 14, message: "", retryAfterMs: 0 } });
        await eventually(() => probe.failures.length === refusals, "a refusal");
        clock.advance(300);
        await stream.next("subscribe");
      }
    });
  });

  describe("silence", () => {
    it("of 60 s means a dead connection, which is replaced", async () => {
      const clock = new ManualClock();
      const server = serverThat();
      const { probe, source } = run({ target: await server.start() }, new StoreProbe(clock));
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(one);
      clock.advance(40_000);
      stream.send({ heartbeat: {} });
      await eventually(() => probe.messages.includes("heartbeat"), "the heartbeat");
      clock.advance(59_999);
      expect(probe.failures).to.deep.equal([]);
      clock.advance(1);
      await probe.failure("silent");
      expect(source.status().error).to.equal("the proxy has sent nothing for 60 s");
      await eventually(() => server.relay.open === 0, "the connection is closed");
      clock.advance(10_000);
      expect(
        (await (await server.nextStream()).subscribed()).held?.digest.equals(versionOf(one).digest),
      ).to.equal(true);
      expect(server.relay.accepted).to.equal(2);
    });
  });

  describe("an end of the stream", () => {
    for (const code of ["OK", "UNAVAILABLE", "UNIMPLEMENTED", "PERMISSION_DENIED", "INTERNAL"] as const) {
      it(`with ${code} after an answer opens another of the same protocol`, async () => {
        const server = serverThat({ bunting: true, flagd: true });
        const { probe } = run({ target: await server.start() });
        const first = await server.nextStream();
        await first.subscribed();
        await first.snapshot(one);
        first.end(code, "for a reason");
        await (await server.nextStream()).subscribed();
        expect(server.flagdStreams.size).to.equal(0);
        expect(probe.failures).to.deep.equal([code === "OK" ? "ended" : code.toLowerCase()]);
      });
    }

    it("with a pushback is answered when the proxy says", async () => {
      const clock = new ManualClock();
      const server = serverThat();
      const { probe } = run({ target: await server.start() }, new StoreProbe(clock));
      const stream = await server.nextStream();
      await stream.subscribed();
      stream.end("UNAVAILABLE", "later", { "grpc-retry-pushback-ms": "7000" });
      await probe.failure("unavailable");
      await eventually(() => clock.pendingTimers === 1, "it waits");
      clock.advance(6_999);
      expect(server.streams.size).to.equal(0);
      expect(clock.pendingTimers).to.equal(1);
      clock.advance(1);
      await server.nextStream();
    });

    it("after a GOAWAY finds the next server on a new connection", async () => {
      const server = serverThat();
      run({ target: await server.start() });
      const stream = await server.nextStream();
      await stream.subscribed();
      await stream.snapshot(one);
      const [session] = server.listener.sessions;
      session?.goaway();
      stream.end("UNAVAILABLE", "draining");
      const held = (await (await server.nextStream()).subscribed()).held;
      expect(held?.digest.equals(versionOf(one).digest)).to.equal(true);
      expect(server.relay.accepted).to.equal(2);
    });

    it("for a snapshot that is too large says so", async () => {
      const server = serverThat();
      const { source } = run({ target: await server.start() }, new StoreProbe(undefined, 100_000));
      const stream = await server.nextStream();
      await stream.subscribed();
      stream.send({ snapshot: { topic, version: versionOf(one), document: Buffer.alloc(200_000, " ") } });
      await server.nextStream();
      expect(source.status().error).to.match(/^the flag document is larger than 100000 bytes/);
    });
  });

  describe("a server that does not know it", () => {
    it("is asked by flagd.sync.v1 on the same connection at once, which is not a failure", async () => {
      const server = serverThat({ bunting: false, flagd: true });
      const { probe, source } = run({ target: await server.start() });
      const { selector, out } = await server.nextFlagdStream();
      expect(selector).to.equal(topic);
      out.write(flagdFrame(one));
      expect(await probe.nextDocument()).to.equal(encodeDocument(one));
      expect(source.status()).to.include({ state: "connected", protocol: "flagd.sync.v1", error: undefined });
      expect(probe.failures).to.deep.equal([]);
      expect(probe.messages).to.deep.equal(["document"]);
      expect(server.relay.accepted).to.equal(1);
    });

    it("is not asked again on the same connection, but by the next one, which may be to a newer server", async () => {
      const server = serverThat({ bunting: false, flagd: true });
      const { probe, source } = run({ target: await server.start() });
      const first = await server.nextFlagdStream();
      first.out.write(flagdFrame(one));
      await probe.nextDocument();
      first.out.end({ code: "UNAVAILABLE", message: "" });
      await server.nextFlagdStream();
      expect(server.relay.accepted).to.equal(1);
      const newer = serverThat();
      await newer.start(server.relay);
      server.relay.cut();
      // What came by the other protocol is a start for this one.
      const stream = await newer.nextStream();
      expect((await stream.subscribed()).held).to.deep.equal(versionOf(one));
      stream.send(added);
      await stream.next("ack");
      expect(source.status().protocol).to.equal("bunting.sync.v1");
    });

    it("and does not know flagd's either is a failure", async () => {
      const server = serverThat({ bunting: false });
      const { probe, source } = run({ target: await server.start() });
      await probe.failure("unimplemented");
      expect(source.status().error).to.contain("/flagd.sync.v1.FlagSyncService/SyncFlags");
    });

    // As a mesh does that lets only configured paths through.
    it("or has a gateway that forbids it, is asked by flagd.sync.v1 too", async () => {
      const server = serverThat({ bunting: true, flagd: true });
      const { probe } = run({ target: await server.start() });
      (await server.nextStream()).end("PERMISSION_DENIED", "RBAC: access denied");
      (await server.nextFlagdStream()).out.write(flagdFrame(one));
      expect(await probe.nextDocument()).to.equal(encodeDocument(one));
      expect(probe.failures).to.deep.equal([]);
    });

    for (const code of ["PERMISSION_DENIED", "UNAUTHENTICATED"] as const)
      it(`is asked for it again on the same connection if ${code} is its answer to both, which tells of neither`, async () => {
        const server = serverThat({ bunting: true, flagd: true });
        const { probe, source } = run({ target: await server.start() });
        (await server.nextStream()).end("PERMISSION_DENIED", "RBAC: access denied");
        (await server.nextFlagdStream()).out.end({ code, message: "the token is unknown" });
        await probe.failure(code.toLowerCase());
        const stream = await server.nextStream();
        await stream.subscribed();
        await stream.snapshot(one);
        expect(source.status().protocol).to.equal("bunting.sync.v1");
        expect(server.flagdStreams.size).to.equal(0);
        expect(server.relay.accepted).to.equal(1);
      });
  });

  for (const selector of ["", "flagSetId=a", "/etc/flags.json", "a/b/c/d"]) {
    it(`is not asked for by the selector "${selector}", which only flagd.sync.v1 can say`, async () => {
      const server = serverThat({ bunting: true, flagd: true });
      run({ target: await server.start(), selector });
      expect((await server.nextFlagdStream()).selector).to.equal(selector);
      expect(server.streams.size).to.equal(0);
    });
  }

  it("leaves no timer and no stream when it stops, also while it waits to ask again", async () => {
    const clock = new ManualClock();
    const server = serverThat();
    const { probe, stop } = run({ target: await server.start() }, new StoreProbe(clock));
    const stream = await server.nextStream();
    await stream.subscribed();
    stream.send({ topicError: { topic, code: 8, message: "", retryAfterMs: 5_000 } });
    await probe.failure("resource_exhausted");
    expect(clock.pendingTimers).to.equal(2);
    const stopped = stop();
    stream.out.write(frameMessage(writeResponse({ missing: { topic } })));
    await stopped;
    await stream.closed;
    expect(clock.pendingTimers).to.equal(0);
    expect(probe.failures).to.deep.equal(["resource_exhausted"]);
  });
});

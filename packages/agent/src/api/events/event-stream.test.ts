import { evaluationV1, evaluationV2, schemaV1, type JsonObject } from "@bunting/protocol";
import { statusCode } from "@bunting/rpc";
import { expect } from "chai";
import {
  evaluationV1 as v1Dialect,
  evaluationV2 as v2Dialect,
  schemaV1 as schemaDialect,
} from "../dialects.js";
import { EventStreams } from "./event-stream.js";
import { RawStream } from "../raw-stream.fixture.js";
import {
  createWorld,
  GrpcClient,
  listen,
  releaseAfterEach,
  stallTimeoutMs,
  StreamProbe,
  type World,
  recentMs,
} from "../api.fixture.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";

const dialects = [v2Dialect, v1Dialect, schemaDialect];
const services = dialects.map(({ service }) => service);
const types = [evaluationV2.EventStreamRequest, evaluationV2.EventStreamResponse] as const;
const ready = { type: "provider_ready", data: {} };

const flags = (...keys: string[]): JsonObject =>
  Object.fromEntries(
    keys.map((key) => [key, { state: "ENABLED", variants: { on: true }, defaultVariant: "on" }]),
  );

interface Served {
  readonly world: World;
  readonly events: EventStreams;
  readonly port: number;
  readonly stallClock: ManualClock;
  readonly open: (
    headers?: Readonly<Record<string, string>>,
    service?: string,
  ) => StreamProbe<evaluationV2.EventStreamResponse>;
}

async function serve(
  streamDeadlineMs = 0,
  documents: readonly JsonObject[] = [{ flags: flags("a") }],
  isYoung = false,
): Promise<Served> {
  const world = createWorld({ documents });
  const { selections, clock, store } = world;
  const events = new EventStreams({ flags: store, selections, clock, streamDeadlineMs, recentMs });
  if (!isYoung) clock.advance(recentMs);
  world.store.onChange(({ changes }) => events.publish(changes));
  const stallClock = new ManualClock();
  const methods = dialects.map((dialect) => events.method(dialect));
  const { port } = await listen(methods, undefined, { stallClock });
  const client = new GrpcClient(port);
  return {
    world,
    events,
    port,
    stallClock,
    open: (headers = {}, service = services[0]) =>
      client.stream(`/${service ?? ""}/EventStream`, types, {}, headers),
  };
}

const change = (changed: Record<string, string>): unknown => ({
  type: "configuration_change",
  data: { flags: Object.fromEntries(Object.entries(changed).map(([key, type]) => [key, { type }])) },
});

describe("EventStream", () => {
  releaseAfterEach();

  it("begins with provider_ready and sends each change of flags, in all three protocols", async () => {
    const { world, open } = await serve();
    for (const [index, response] of [evaluationV2, evaluationV1, schemaV1].entries()) {
      expect(
        response.EventStreamResponse.decode(
          evaluationV2.EventStreamResponse.encode({ type: "x", data: {} }).finish(),
        ),
      ).to.deep.equal({ type: "x", data: {} });
      const stream = open({}, services[index]);
      expect(await stream.next()).to.deep.equal(ready);
      world.put({
        flags: { ...flags("a", "b"), a: { state: "DISABLED", variants: { on: true }, defaultVariant: "on" } },
      });
      expect(await stream.next()).to.deep.equal(change({ a: "update", b: "write" }));
      world.put({ flags: flags("a") });
      expect(await stream.next()).to.deep.equal(change({ a: "update", b: "delete" }));
      stream.call.cancel();
      world.clock.advance(recentMs);
    }
  });

  it("tells a new stream what its client may have missed: any flag of an agent that is young, later what changed lately", async () => {
    const { world, open } = await serve(0, [{ flags: flags("a", "b") }], true);
    const news = async (service?: string): Promise<unknown> => {
      const stream = open({}, service);
      expect(await stream.next()).to.deep.equal(ready);
      const event = await stream.next();
      stream.call.cancel();
      return event;
    };
    for (const service of services)
      expect(await news(service), service).to.deep.equal(change({ a: "update", b: "update" }));
    world.clock.advance(recentMs);
    world.put({ flags: flags("b", "c") });
    for (const service of services)
      expect(await news(service), service).to.deep.equal(change({ a: "delete", c: "update" }));
    world.clock.advance(recentMs);
    const late = open();
    expect(await late.next()).to.deep.equal(ready);
    world.put({ flags: flags("b") });
    expect(await late.next(), "nothing before it").to.deep.equal(change({ c: "delete" }));
  });

  it("sends nothing for an update that changes nothing", async () => {
    const { world, open } = await serve();
    const stream = open();
    await stream.next();
    world.put({ flags: flags("a") });
    world.put({ flags: flags("a", "b") });
    expect(await stream.next()).to.deep.equal(change({ b: "write" }));
  });

  it("sends a stream the changes of its selector's set only", async () => {
    const { world, open } = await serve(0, [
      { flags: flags("a") },
      { flags: flags("b"), metadata: { flagSetId: "other" } },
    ]);
    const all = open();
    const other = open({ "flagd-selector": "flagSetId=other" });
    await all.next();
    await other.next();
    world.put({ flags: flags("a", "c") }, 0);
    world.put({ flags: flags("b", "c"), metadata: { flagSetId: "other" } }, 1);
    expect(await all.next()).to.deep.equal(change({ c: "write" }));
    expect(await all.next(), "a flag of the same key in the other set").to.deep.equal(change({ c: "write" }));
    expect(await other.next()).to.deep.equal(change({ c: "write" }));
    world.put(
      {
        flags: {
          ...flags("a", "c"),
          b: { state: "ENABLED", variants: { on: true }, metadata: { flagSetId: "other2" } },
        },
      },
      0,
    );
    world.put({ flags: flags("c"), metadata: { flagSetId: "other" } }, 1);
    expect(await all.next()).to.deep.equal(change({ b: "write" }));
    expect(await all.next()).to.deep.equal(change({ b: "delete" }));
    expect(await other.next()).to.deep.equal(change({ b: "delete" }));
  });

  it("refuses a selector that can't be parsed", async () => {
    const { open } = await serve();
    expect(await open({ "flagd-selector": "color=red" }).status).to.include({
      code: statusCode.INVALID_ARGUMENT,
    });
  });

  it("sends keep_alive after 20 s without another event", async () => {
    const { world, open } = await serve();
    const stream = open();
    await stream.next();
    world.clock.advance(15_000);
    world.put({ flags: flags("a", "b") });
    expect(await stream.next()).to.deep.equal(change({ b: "write" }));
    world.clock.advance(19_999);
    world.put({ flags: flags("a") });
    expect(await stream.next(), "no keep_alive in between").to.deep.equal(change({ b: "delete" }));
    world.clock.advance(20_000);
    expect(await stream.next()).to.deep.equal({ type: "keep_alive", data: undefined });
    world.clock.advance(20_000);
    expect(await stream.next()).to.deep.equal({ type: "keep_alive", data: undefined });
  });

  it("ends at the server's deadline with DEADLINE_EXCEEDED, each stream at its own", async () => {
    const { world, events, open } = await serve(60_000);
    const first = open();
    await first.next();
    world.clock.advance(30_000);
    const second = open();
    await second.next();
    world.clock.advance(30_000);
    expect(await first.status).to.deep.include({
      code: statusCode.DEADLINE_EXCEEDED,
      details: "stream closed due to server-side timeout",
    });
    expect(events.size).to.equal(1);
    world.clock.advance(30_000);
    expect(await second.status).to.include({ code: statusCode.DEADLINE_EXCEEDED });
    await eventually(() => world.clock.pendingTimers === 0, "no timer is left");
  });

  it("sends provider_shutdown and ends with UNAVAILABLE, never OK, when the agent stops; later streams end so too", async () => {
    const { world, events, open } = await serve();
    const stream = open();
    await stream.next();
    events.shutdown();
    expect(await stream.next()).to.deep.equal({ type: "provider_shutdown", data: {} });
    expect(await stream.status).to.deep.include({
      code: statusCode.UNAVAILABLE,
      details: "the agent is shutting down",
    });
    expect(await open().status).to.include({ code: statusCode.UNAVAILABLE });
    world.put({ flags: {} });
    await eventually(() => world.clock.pendingTimers === 0, "no timer is left");
  });

  it("forgets a client that went away", async () => {
    const { world, events, open } = await serve(60_000);
    const stream = open();
    await stream.next();
    expect(events.size).to.equal(1);
    stream.call.cancel();
    await eventually(() => events.size === 0, "the stream is forgotten");
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it("sends a client that did not read for a while its net missed changes in one event", async () => {
    const { world, port } = await serve();
    const stream = new RawStream(port, "/flagd.evaluation.v2.Service/EventStream", Buffer.alloc(0), {}, 100);
    stream.read();
    await stream.messages.nextEvent("provider_ready");
    stream.pause();
    const many = Array.from({ length: 200 }, (_, i) => `flag-${i}`);
    world.put({ flags: flags(...many) }); // more than the window: in flight
    for (let i = 0; i < 1_000; i++) world.put({ flags: flags(...many, `brief-${i}`) });
    world.put({ flags: flags(...many, "late") });
    stream.read();
    const inFlight = evaluationV2.EventStreamResponse.decode(await stream.messages.nextEvent());
    expect((inFlight.data?.["flags"] as JsonObject)["a"]).to.deep.equal({ type: "delete" });
    const missed = evaluationV2.EventStreamResponse.decode(await stream.messages.nextEvent());
    expect(missed).to.deep.equal(change({ late: "write" }));
    world.put({ flags: flags(...many) });
    const next = evaluationV2.EventStreamResponse.decode(await stream.messages.nextEvent());
    expect(next).to.deep.equal(change({ late: "delete" }));
  });

  it("keeps sending changes to a later stream when one with the same selector closes that had left at its deadline", async () => {
    const { world, events, port, stallClock, open } = await serve(60_000);
    const early = new RawStream(port, "/flagd.evaluation.v2.Service/EventStream", Buffer.alloc(0), {}, 100);
    await eventually(() => events.size === 1, "the stream is open");
    world.put({ flags: flags(...Array.from({ length: 200 }, (_, i) => `flag-${i}`)) });
    world.clock.advance(recentMs);
    expect(events.size, "it has left, but not closed: its client does not read").to.equal(0);
    const late = open();
    expect(await late.next()).to.deep.equal(ready);
    stallClock.advance(2 * stallTimeoutMs);
    await early.closed;
    world.put({ flags: flags(...Array.from({ length: 201 }, (_, i) => `flag-${i}`)) });
    expect(await late.next()).to.deep.equal(change({ "flag-200": "write" }));
  });

  it("keeps no timer of a stream whose first frame its client takes after the server's deadline", async () => {
    const { world, events, port } = await serve(60_000, [{ flags: flags("a") }], true);
    const early = new RawStream(port, "/flagd.evaluation.v2.Service/EventStream", Buffer.alloc(0), {}, 0);
    await eventually(() => events.size === 1, "the stream is open");
    world.clock.advance(60_000);
    expect(events.size, "it has left, but its client takes nothing").to.equal(0);
    early.session.settings({ initialWindowSize: 65_535 });
    early.read();
    await early.closed;
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it("resets a stream whose client never reads its end, with a code that clients take as UNAVAILABLE", async () => {
    const { world, events, port, stallClock } = await serve();
    const stream = new RawStream(port, "/flagd.evaluation.v2.Service/EventStream", Buffer.alloc(0), {}, 100);
    await eventually(() => events.size === 1, "the stream is open");
    world.put({ flags: flags(...Array.from({ length: 200 }, (_, i) => `flag-${i}`)) });
    events.shutdown();
    expect(events.size).to.equal(0);
    let rstCode: number | undefined;
    void stream.closed.then((closed) => (rstCode = closed.rstCode));
    await eventually(() => {
      stallClock.advance(stallTimeoutMs);
      return rstCode !== undefined;
    }, "the stream is reset");
    const NGHTTP2_REFUSED_STREAM = 7;
    expect(rstCode).to.equal(NGHTTP2_REFUSED_STREAM);
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it("keeps nothing of a stream that reads its first event only when its deadline has passed", async () => {
    const { world, port } = await serve(60_000, undefined, true);
    const raw = new RawStream(port, `/${services[0] ?? ""}/EventStream`, Buffer.alloc(0), {}, 0);
    await eventually(() => world.clock.pendingTimers === 2, "its deadline, and the end of its silence");
    world.clock.advance(60_000);
    raw.read();
    raw.session.settings({ initialWindowSize: 65_535 });
    expect((await raw.trailers)["grpc-status"]).to.equal(String(statusCode.DEADLINE_EXCEEDED));
    await raw.closed;
    await eventually(() => world.clock.pendingTimers === 0, "no timer");
  });
});

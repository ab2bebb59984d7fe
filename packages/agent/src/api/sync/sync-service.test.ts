import { syncV1, type JsonObject } from "@bunting/protocol";
import { statusCode } from "@bunting/rpc";
import type { ServiceError } from "@grpc/grpc-js";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RawStream } from "../raw-stream.fixture.js";
import { SyncService, type SyncServiceOptions } from "./sync-service.js";
import {
  createWorld,
  expectStatus,
  GrpcClient,
  listen,
  releaseAfterEach,
  stallTimeoutMs,
  type StreamProbe,
  type World,
} from "../api.fixture.js";

const path = "/flagd.sync.v1.FlagSyncService/";
const sync = [syncV1.SyncFlagsRequest, syncV1.SyncFlagsResponse] as const;
const fetchAll = [syncV1.FetchAllFlagsRequest, syncV1.FetchAllFlagsResponse] as const;
const getMetadata = [syncV1.GetMetadataRequest, syncV1.GetMetadataResponse] as const;

const simple = (variant = "on"): JsonObject => ({
  state: "ENABLED",
  variants: { on: true, off: false },
  defaultVariant: variant,
});

const one: JsonObject = {
  flags: {
    plain: simple(),
    full: {
      state: "DISABLED",
      variants: { b: { y: 1, x: [null] }, a: {} },
      defaultVariant: "a",
      targeting: { if: [{ $ref: "isAda" }, "b", null] },
      metadata: { version: 2 },
    },
    codeDefault: { state: "ENABLED", variants: { on: true }, defaultVariant: "" },
  },
  metadata: { owner: "set" },
  $evaluators: { isAda: { "==": [{ var: "name" }, "ada"] } },
};
const two: JsonObject = { flags: { other: simple(), plain: simple("off") }, metadata: { flagSetId: "two" } };

interface Served {
  readonly world: World;
  readonly service: SyncService;
  readonly client: GrpcClient;
  readonly port: number;
  readonly stallClock: ManualClock;
  readonly open: (
    selector?: string,
    headers?: Readonly<Record<string, string>>,
  ) => StreamProbe<syncV1.SyncFlagsResponse>;
}

async function serve(
  options: Partial<SyncServiceOptions> & {
    readonly documents?: readonly JsonObject[];
    readonly isHeld?: boolean;
    readonly unreadSources?: readonly number[];
  } = {},
): Promise<Served> {
  const { documents = [one, two], isHeld = false, unreadSources = [], ...rest } = options;
  const world = createWorld({ documents, unread: unreadSources });
  const service = new SyncService({
    flags: { reader: world.store, unread: world.unread, selections: world.selections },
    metrics: world.metrics,
    clock: world.clock,
    metadata: { contextValues: {}, isDisabled: false },
    streamDeadlineMs: 0,
    ...rest,
  });
  world.store.onChange(({ changes }) => service.publish(changes));
  if (!isHeld) service.release();
  const stallClock = new ManualClock();
  const { port } = await listen(service.methods(), undefined, { stallClock });
  const client = new GrpcClient(port);
  return {
    world,
    service,
    client,
    port,
    stallClock,
    open: (selector = "", headers = {}) =>
      client.stream(`${path}SyncFlags`, sync, { selector, providerId: "test" }, headers),
  };
}

const keysOf = ({ flagConfiguration }: syncV1.SyncFlagsResponse): string[] =>
  Object.keys((JSON.parse(flagConfiguration) as { flags: JsonObject }).flags);

describe("the agent's flagd.sync.v1", () => {
  releaseAfterEach();

  it("sends flagd's fields only, canonical, with references and the set's metadata in each flag", async () => {
    const { open } = await serve({ documents: [one] });
    const { flagConfiguration } = await open().next();
    expect(flagConfiguration).to.equal(
      '{"flags":{' +
        '"codeDefault":{"defaultVariant":"","metadata":{"owner":"set"},"source":"source-0","state":"ENABLED","variants":{"on":true}},' +
        '"full":{"defaultVariant":"a","metadata":{"owner":"set","version":2},"source":"source-0","state":"DISABLED",' +
        '"targeting":{"if":[{"==":[{"var":"name"},"ada"]},"b",null]},"variants":{"a":{},"b":{"x":[null],"y":1}}},' +
        '"plain":{"defaultVariant":"on","metadata":{"owner":"set"},"source":"source-0","state":"ENABLED","variants":{"off":false,"on":true}}' +
        "}}",
    );
  });

  it("sends the whole set again after each change of it, and nothing after a change elsewhere", async () => {
    const { world, open } = await serve();
    const all = open();
    const second = open("flagSetId=two");
    expect(keysOf(await all.next())).to.deep.equal(["codeDefault", "full", "other", "plain"]);
    expect(keysOf(await second.next())).to.deep.equal(["other", "plain"]);
    world.put({ flags: { plain: simple() } }, 0);
    expect(keysOf(await all.next())).to.deep.equal(["other", "plain"]);
    world.put({ flags: { another: simple() }, metadata: { flagSetId: "two" } }, 1);
    expect(keysOf(await all.next())).to.deep.equal(["another", "plain"]);
    expect(keysOf(await second.next())).to.deep.equal(["another"]);
    world.put({ flags: {}, metadata: { flagSetId: "two" } }, 1);
    expect((await second.next()).flagConfiguration, "deleted to the last").to.equal('{"flags":{}}');
  });

  it("does not send again what a stream already has", async () => {
    const { world, open } = await serve();
    const stream = open("source=source-0");
    const first = await stream.next();
    // An equal document: nothing to send.
    world.put(one, 0);
    world.put({ ...one, flags: { ...(one["flags"] as JsonObject), extra: simple() } }, 0);
    expect(keysOf(await stream.next())).to.include("extra");
    world.put(one, 0);
    expect((await stream.next()).flagConfiguration).to.equal(first.flagConfiguration);
  });

  it("sends one flag for each key, that of the greatest flagSetId", async () => {
    const { open } = await serve();
    const { flagConfiguration } = await open().next();
    const { flags } = JSON.parse(flagConfiguration) as { flags: Record<string, { defaultVariant: string }> };
    expect(flags["plain"]?.defaultVariant).to.equal("off");
  });

  it("prefers the header's selector, even an empty one, to the body's", async () => {
    const { open } = await serve();
    const header = (selector: string): Record<string, string> => ({ "flagd-selector": selector });
    expect(keysOf(await open("flagSetId=two").next())).to.deep.equal(["other", "plain"]);
    expect(keysOf(await open("source-0", header("flagSetId=two")).next())).to.deep.equal(["other", "plain"]);
    expect(keysOf(await open("flagSetId=two", header("")).next())).to.have.length(4);
  });

  it("refuses a selector that can't be parsed with INVALID_ARGUMENT", async () => {
    const { open, client } = await serve();
    expect(await open("color=red").status).to.include({ code: statusCode.INVALID_ARGUMENT });
    await client.unary(`${path}FetchAllFlags`, fetchAll, { selector: "color=red", providerId: "" }).then(
      () => expect.fail("accepted"),
      (error: unknown) => expect(error).to.include({ code: statusCode.INVALID_ARGUMENT }),
    );
  });

  it("refuses with INTERNAL, as grpc-go, a message that is cut short and text that is not UTF-8", async () => {
    const { client } = await serve();
    for (const method of ["FetchAllFlags", "GetMetadata"]) {
      await expectStatus(
        client.raw(`${path}${method}`, Buffer.from("0a05616263", "hex")),
        "INTERNAL",
        "The request is not a valid protobuf message: it is cut short.",
      );
    }
    await expectStatus(
      client.raw(`${path}FetchAllFlags`, Buffer.from("1202fffe", "hex")),
      "INTERNAL",
      "The request is not a valid protobuf message: a string in it is not UTF-8.",
    );
  });

  it("sends the static context with every message, also if it is empty", async () => {
    const { open, world } = await serve({
      metadata: { contextValues: { region: "north" }, isDisabled: false },
    });
    const stream = open();
    expect((await stream.next()).syncContext).to.deep.equal({ region: "north" });
    world.put({ flags: {} }, 0);
    expect((await stream.next()).syncContext).to.deep.equal({ region: "north" });
    const empty = await serve();
    expect((await empty.open().next()).syncContext).to.deep.equal({});
  });

  it("answers GetMetadata with the static context, or UNIMPLEMENTED where it is switched off", async () => {
    const { client } = await serve({ metadata: { contextValues: { region: "north" }, isDisabled: false } });
    expect(await client.unary(`${path}GetMetadata`, getMetadata, {})).to.deep.equal({
      metadata: { region: "north" },
    });
    const disabled = await serve({ metadata: { contextValues: {}, isDisabled: true } });
    await expectStatus(
      disabled.client.unary(`${path}GetMetadata`, getMetadata, {}),
      "UNIMPLEMENTED",
      "metadata endpoint disabled",
    );
  });

  it("answers FetchAllFlags with the current set", async () => {
    const { client, open, world } = await serve();
    const stream = open("flagSetId=two");
    const { flagConfiguration } = await stream.next();
    const fetch = (): Promise<syncV1.FetchAllFlagsResponse> =>
      client.unary(`${path}FetchAllFlags`, fetchAll, { selector: "flagSetId=two", providerId: "" });
    expect(await fetch()).to.deep.equal({ flagConfiguration });
    world.put({ flags: {}, metadata: { flagSetId: "two" } }, 1);
    expect(await fetch()).to.deep.equal({ flagConfiguration: '{"flags":{}}' });
  });

  describe("until every source has delivered", () => {
    it("sends headers at once and holds the rest", async () => {
      const { world, service, client, open } = await serve({ isHeld: true });
      const stream = open();
      await stream.headers;
      const fetched = client.unary(`${path}FetchAllFlags`, fetchAll, { selector: "", providerId: "" });
      world.put({ flags: { early: simple() } }, 0);
      world.put({ flags: { late: simple() } }, 1);
      expect(stream.messages.size).to.equal(0);
      service.release();
      expect(keysOf(await stream.next())).to.deep.equal(["early", "late"]);
      expect(JSON.parse((await fetched).flagConfiguration))
        .to.have.property("flags")
        .with.keys("early", "late");
      expect(world.clock.pendingTimers).to.equal(0);
    });

    it("holds for no more than 5 s, counted from the start", async () => {
      const { world, open } = await serve({ isHeld: true });
      world.clock.advance(2_000);
      const stream = open();
      await stream.headers;
      world.clock.advance(2_999);
      world.put({ flags: {} }, 1);
      expect(stream.messages.size).to.equal(0);
      world.clock.advance(1);
      expect(keysOf(await stream.next())).to.deep.equal(["codeDefault", "full", "plain"]);
      expect(keysOf(await open().next())).to.deep.equal(["codeDefault", "full", "plain"]);
    });

    it("ends what it holds when the agent stops", async () => {
      const { world, service, client, open } = await serve({ isHeld: true });
      const stream = open();
      await stream.headers;
      const fetched = client.unary(`${path}FetchAllFlags`, fetchAll, { selector: "", providerId: "" });
      const refused = expectStatus(fetched, "UNAVAILABLE", "the agent is shutting down");
      // Calls arrive in order: the answer to this one shows that the one before is held.
      await client.unary(`${path}GetMetadata`, getMetadata, {});
      service.shutdown();
      await refused;
      expect(await stream.status).to.include({ code: statusCode.UNAVAILABLE });
      expect(stream.messages.size).to.equal(0);
      await eventually(() => world.clock.pendingTimers === 0, "no timer is left");
    });
  });

  describe("while a source has not answered for longer than that", () => {
    const empty: JsonObject = { flags: {} };

    it("sends the flags of the others, but no set that is empty only because of it, until it has some", async () => {
      const { world, client, open } = await serve({ documents: [one, empty], unreadSources: [1] });
      expect(keysOf(await open().next())).to.deep.equal(["codeDefault", "full", "plain"]);
      expect(keysOf(await open("source=source-0").next())).to.include("full");
      const held = [open("source=source-1"), open("flagSetId=two")];
      for (const stream of held) await stream.headers;
      const fetched = client.unary(`${path}FetchAllFlags`, fetchAll, {
        selector: "flagSetId=two",
        providerId: "",
      });
      await expectStatus(fetched, "UNAVAILABLE", "a source that may have the flag has not answered yet");
      const { metadata } = (await fetched.catch((error: unknown) => error)) as ServiceError;
      expect(metadata.get("grpc-retry-pushback-ms"), "it may be retried").to.deep.equal([]);
      expect(held.map(({ messages }) => messages.size)).to.deep.equal([0, 0]);
      world.put(two, 1);
      for (const stream of held) expect(keysOf(await stream.next())).to.deep.equal(["other", "plain"]);
    });

    it("sends empty sets once the source says that it has no flags, and none to those who are drained before", async () => {
      const { world, service, open } = await serve({ documents: [empty, empty], unreadSources: [0, 1] });
      const [first, all] = [open("source=source-0"), open()];
      for (const stream of [first, all]) await stream.headers;
      world.unread.answered(0);
      service.answered();
      expect((await first.next()).flagConfiguration).to.equal('{"flags":{}}');
      service.shutdown();
      expect(await all.status).to.include({ code: statusCode.UNAVAILABLE });
      expect(all.messages.size).to.equal(0);
    });
  });

  it("sends a client that did not read for a while only the newest version", async () => {
    const { world, port } = await serve({ documents: [{ flags: {} }] });
    const padding = "x".repeat(10_000);
    const version = (n: number): JsonObject => ({
      flags: { flag: { ...simple(), metadata: { n, padding } } },
    });
    world.put(version(0));
    const stream = new RawStream(
      port,
      `${path}SyncFlags`,
      syncV1.SyncFlagsRequest.encode({ selector: "", providerId: "" }).finish(),
    );
    stream.read();
    const read = async (): Promise<number> => {
      const { flagConfiguration } = syncV1.SyncFlagsResponse.decode(await stream.messages.nextEvent());
      return (JSON.parse(flagConfiguration) as { flags: { flag: { metadata: { n: number } } } }).flags.flag
        .metadata.n;
    };
    expect(await read()).to.equal(0);
    stream.pause();
    for (let n = 1; n <= 500; n++) world.put(version(n));
    stream.read();
    const seen: number[] = [];
    while (seen.at(-1) !== 500) seen.push(await read());
    expect(seen.length, "what was under way, then the newest").to.be.at.most(3);
  });

  it("sends the newest version before it ends a stream that was still writing", async () => {
    const { world, service, port } = await serve({ documents: [{ flags: {} }] });
    world.put({ flags: { flag: { ...simple(), metadata: { padding: "x".repeat(10_000) } } } });
    const stream = new RawStream(
      port,
      `${path}SyncFlags`,
      syncV1.SyncFlagsRequest.encode({ selector: "", providerId: "" }).finish(),
    );
    await eventually(() => service.size === 1, "the stream is open");
    world.put({ flags: { newest: simple() } });
    service.shutdown();
    stream.read();
    await stream.messages.nextEvent("the version under way");
    expect(keysOf(syncV1.SyncFlagsResponse.decode(await stream.messages.nextEvent()))).to.deep.equal([
      "newest",
    ]);
    expect((await stream.trailers)["grpc-status"]).to.equal(String(statusCode.UNAVAILABLE));
  });

  it("keeps sending changes to a later stream when one with the same selector closes that had left at its deadline", async () => {
    const { world, service, port, stallClock, open } = await serve({
      documents: [{ flags: { flag: { ...simple(), metadata: { padding: "x".repeat(10_000) } } } }],
      streamDeadlineMs: 60_000,
    });
    const early = new RawStream(
      port,
      `${path}SyncFlags`,
      syncV1.SyncFlagsRequest.encode({ selector: "", providerId: "" }).finish(),
    );
    await eventually(() => service.size === 1, "the stream is open");
    world.clock.advance(60_000);
    expect(service.size, "it has left, but not closed: its client does not read").to.equal(0);
    const late = open();
    expect(keysOf(await late.next())).to.deep.equal(["flag"]);
    stallClock.advance(2 * stallTimeoutMs);
    await early.closed;
    world.put({ flags: { newest: simple() } });
    expect(keysOf(await late.next())).to.deep.equal(["newest"]);
  });

  it("ends at the server's deadline with DEADLINE_EXCEEDED", async () => {
    const { world, open } = await serve({ streamDeadlineMs: 60_000 });
    const stream = open();
    await stream.next();
    world.clock.advance(60_000);
    expect(await stream.status).to.deep.include({
      code: statusCode.DEADLINE_EXCEEDED,
      details: "stream closed due to server-side timeout",
    });
    await eventually(() => world.clock.pendingTimers === 0, "no timer is left");
  });

  it("counts streams, their duration and the reason for their end", async () => {
    const { world, service, open } = await serve({ streamDeadlineMs: 60_000 });
    const gone = open("flagSetId=two");
    await gone.next();
    world.clock.advance(1_000);
    gone.call.cancel();
    await eventually(() => service.size === 0, "the stream is forgotten");
    const expired = open();
    await expired.next();
    world.clock.advance(60_000);
    await expired.status;
    const ended = open();
    await ended.next();
    service.shutdown();
    await ended.status;
    expect(world.metrics.calls).to.deep.equal([
      ["syncStreamOpened", "flagSetId=two", "test"],
      ["syncStreamClosed", "flagSetId=two", "test", "client_disconnect", 1_000],
      ["syncStreamOpened", "", "test"],
      ["syncStreamClosed", "", "test", "deadline_exceeded", 60_000],
      ["syncStreamOpened", "", "test"],
      ["syncStreamClosed", "", "test", "normal_close", 0],
    ]);
  });
});

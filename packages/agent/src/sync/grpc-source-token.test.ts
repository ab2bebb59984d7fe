import { rmSync } from "node:fs";
import { encodeDocument, type FlagDocument } from "@bunting/protocol";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { Response } from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import {
  BuntingServer,
  flagdFrame,
  StoreProbe,
  topic,
  versionOf,
  type SyncStream,
} from "./bunting-server.fixture.js";
import type { GrpcSourceTiming } from "./grpc-source-timing.js";
import { GrpcSource } from "./grpc-source.js";
import type { SourceState } from "./source-state.js";
import { grpcConfig, partsOf } from "./sync.fixture.js";

const on = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const one: FlagDocument = { flags: { a: on } };
const two: FlagDocument = { flags: { a: on, b: on } };
const three: FlagDocument = { flags: { a: on, b: on, c: on } };
const oldToken = "eyJhbGciOiJSUzI1NiJ9.b2xkLXRva2VuLW9sZA.c2lnbmF0dXJlLW9sZA";
const newToken = "eyJhbGciOiJSUzI1NiJ9.bmV3LXRva2VuLW5ldw.c2lnbmF0dXJlLW5ldw";

/** From one document to another that has a flag more. */
function adds(key: string, from: FlagDocument, to: FlagDocument): Response {
  return {
    delta: {
      topic,
      fromDigest: versionOf(from).digest,
      version: versionOf(to),
      flags: [{ key, flag: Buffer.from('{"defaultVariant":"on","state":"ENABLED","variants":{"on":true}}') }],
    },
  };
}

describe("GrpcSource with a token file", () => {
  let directory: TempDirectory;
  let server: BuntingServer;
  let probe: StoreProbe;
  let source: SourceState;
  let stop: () => Promise<void>;

  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("token", `${oldToken}\n`);
    server = new BuntingServer({ bunting: true, flagd: true });
    probe = new StoreProbe();
    stop = () => Promise.resolve();
  });
  afterEach(async () => {
    await stop();
    await eventually(() => server.relay.open === 0, "no connection of the source is left");
    await server.stop();
    directory.remove();
  });

  async function run(
    { isBound, ...fields }: { selector?: string; isIncremental?: boolean; isBound?: boolean } = {},
    timing: Partial<GrpcSourceTiming> = {},
  ): Promise<void> {
    const address = await server.start();
    const config = grpcConfig(address, {
      selector: topic,
      tokenFile: directory.file("token"),
      ...(isBound === true
        ? { tokenBinding: { hostsFile: directory.file("hosts"), server: `http://${address}` } }
        : {}),
      ...fields,
    });
    const parts = partsOf(config, probe.options);
    source = parts.state;
    const abort = new AbortController();
    const ended = new GrpcSource(parts, { tokenIntervalMs: 5, ...timing }).run(abort.signal);
    stop = () => {
      abort.abort();
      return ended;
    };
  }

  /** A stream with the old token that has brought a document, and the one that is to take over from it. */
  async function renewing(): Promise<readonly [before: SyncStream, next: SyncStream]> {
    const before = await server.nextStream();
    await before.subscribed();
    await before.snapshot(one);
    directory.replace("token", newToken);
    const next = await server.nextStream();
    expect((await next.subscribed()).held?.digest).to.deep.equal(versionOf(one).digest);
    return [before, next];
  }

  it("sends the token, without what is around it", async () => {
    await run();
    const stream = await server.nextStream();
    expect(stream.out.header("authorization")).to.equal(`Bearer ${oldToken}`);
  });

  it("sends it only while its owner names the server", async () => {
    directory.replace("hosts", "flags.example.com");
    await run({ isBound: true });
    await probe.failure("token");
    const [, address = ""] = /add (http:\S+) there/.exec(source.status().error ?? "") ?? [];
    directory.replace("hosts", `flags.example.com,${address}`);
    const stream = await server.nextStream();
    expect(stream.out.header("authorization")).to.equal(`Bearer ${oldToken}`);
    expect(server.relay.accepted).to.equal(1);
  });

  it("has a stream with the newer token take over, from what is held, and stays connected", async () => {
    await run();
    const [before, next] = await renewing();
    expect(before.out.header("authorization")).to.equal(`Bearer ${oldToken}`);
    expect(next.out.header("authorization")).to.equal(`Bearer ${newToken}`);
    expect(before.out.stream.isOpen).to.equal(true);

    next.send({ unchanged: { topic, version: versionOf(one) } });

    expect((await next.next("ack")).number).to.equal("1");
    await before.closed;
    expect(source.status()).to.include({ state: "connected", error: undefined });
    next.send(adds("b", one, two));
    expect((await next.next("ack")).number).to.equal("2");
    expect(probe.text).to.equal(encodeDocument(two));
    expect(probe.failures).to.deep.equal([]);
    expect(probe.nacks).to.deep.equal([]);
    expect(probe.renewals).to.deep.equal(["taken_over"]);
    expect(server.relay.accepted).to.equal(1);
  });

  it("does not apply on the old stream what comes while the new one is not answered, nor goes back to it", async () => {
    await run();
    const [before, next] = await renewing();
    before.send(adds("b", one, two));
    // The delta passes before what follows: both streams are on one connection.
    next.send({ heartbeat: {} });
    await eventually(() => probe.messages.includes("heartbeat"), "the new stream is read");
    expect(probe.text).to.equal(encodeDocument(one));

    expect(await next.snapshot(three)).to.have.property("ack");

    await before.closed;
    expect(probe.text).to.equal(encodeDocument(three));
    expect(before.requests.size).to.equal(0);
    expect(probe.nacks).to.deep.equal([]);
  });

  for (const [what, timing, refuse] of [
    [
      "is refused",
      {},
      (stream: SyncStream) => stream.end("UNAUTHENTICATED", `the token ${newToken} is unknown`),
    ],
    [
      "is refused its topic",
      {},
      (stream: SyncStream) => stream.send({ topicError: { topic, code: 7, message: "no", retryAfterMs: 0 } }),
    ],
    // The next one has as long, and must be answered in time.
    ["is not answered", { renewalTimeoutMs: 500 }, () => undefined],
  ] as const)
    it(`goes on with the old stream, and what has come on it, if the new one ${what}`, async () => {
      await run({}, timing);
      const [before, next] = await renewing();
      before.send(adds("b", one, two));

      refuse(next);

      expect((await before.next("ack")).number).to.equal("2");
      await next.closed;
      expect(probe.text).to.equal(encodeDocument(two));
      expect(source.status()).to.include({ state: "connected", error: undefined });
      expect(probe.failures).to.deep.equal([]);
      await eventually(() => probe.renewals.length === 1, "the renewal is counted");
      expect(probe.renewals).to.deep.equal(["failed"]);
      expect(probe.log).not.to.contain(newToken);
      // And tries again.
      const third = await server.nextStream();
      await third.subscribed();
      third.send({ unchanged: { topic, version: versionOf(two) } });
      await before.closed;
      expect(probe.renewals).to.deep.equal(["failed", "taken_over"]);
    });

  it("goes on with the new stream if the old one ends before it is answered", async () => {
    await run();
    const [before, next] = await renewing();
    before.end("UNAUTHENTICATED", "the token has expired");
    await before.closed;

    expect(await next.snapshot(two)).to.have.property("ack");

    expect(probe.text).to.equal(encodeDocument(two));
    expect(probe.failures).to.deep.equal([]);
    expect(source.status()).to.include({ state: "connected", error: undefined });
  });

  it("renews streams of flagd.sync.v1 as well", async () => {
    await run({ isIncremental: true });
    const before = await server.nextFlagdStream();
    before.out.write(flagdFrame(one));
    await eventually(() => probe.text !== undefined, "the document");
    directory.replace("token", newToken);
    const next = await server.nextFlagdStream();
    expect(next.out.header("authorization")).to.equal(`Bearer ${newToken}`);
    before.out.write(flagdFrame(two));

    next.out.write(flagdFrame(three));

    await new Promise<void>((resolve) => before.out.onClose(resolve));
    await eventually(() => probe.text === encodeDocument(three), "the newest document");
    expect(await probe.nextDocument()).to.equal(encodeDocument(one));
    expect(await probe.nextDocument()).to.equal(encodeDocument(three));
    expect(probe.failures).to.deep.equal([]);
  });

  it("serves what it holds when it is refused, and reads the file again for the next stream", async () => {
    await run({}, { tokenIntervalMs: 3_600_000 });
    const first = await server.nextStream();
    await first.subscribed();
    await first.snapshot(one);
    directory.replace("token", newToken);

    first.end("UNAUTHENTICATED", `Bearer ${oldToken} has expired: ${oldToken.slice(-19)}`);

    const second = await server.nextStream();
    expect(second.out.header("authorization")).to.equal(`Bearer ${newToken}`);
    expect(probe.text).to.equal(encodeDocument(one));
    expect(probe.failures).to.deep.equal(["unauthenticated"]);
    expect(source.status().error).to.equal("UNAUTHENTICATED: Bearer [redacted] has expired: .[redacted]");
    expect(probe.log).to.contain("must have a token that the server accepts");
    for (const part of oldToken.split(".")) expect(probe.log).not.to.contain(part);
  });

  it("says that the file can't be used, without its content, and goes on once it can", async () => {
    for (const [content, problem] of [
      [undefined, "can't be read (ENOENT)"],
      ["", "it is empty"],
      [`${oldToken} ${newToken}`, "it has more than one token"],
    ] as const) {
      rmSync(directory.file("token"), { force: true });
      if (content !== undefined) directory.replace("token", content);
      if (content === undefined) await run();
      await eventually(() => source.status().error?.includes(problem) === true, problem);
      expect(source.status().error).to.contain(directory.file("token"));
      expect(probe.log).not.to.contain(oldToken);
    }
    expect(probe.failures).to.include("token");
    directory.replace("token", newToken);
    expect((await server.nextStream()).out.header("authorization")).to.equal(`Bearer ${newToken}`);
  });

  it("does not renew for a file that is written again with the same token, or can't be used for a moment", async () => {
    await run();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(one);
    for (const content of [oldToken, "", `${oldToken}\n\n`]) directory.replace("token", content);
    stream.send(adds("b", one, two));
    await stream.next("ack");
    directory.replace("token", newToken);
    await server.nextStream();
    expect(server.streams.size).to.equal(0);
  });
});

import { gzipSync } from "node:zlib";
import { syncV1 } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import {
  encode,
  HostileSyncServer,
  open,
  onSubscribe,
  refuse,
  snapshot,
  versionWith,
} from "@bunting/test/support/hostile-sync-server.js";
import { expect } from "chai";
import type { ServerHttp2Stream } from "node:http2";
import { RemoteListener, type Listening } from "./remote.fixture.js";

const topic = "shop/checkout";
const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const digest = (byte: number): Buffer => Buffer.alloc(32, byte);
const unimplemented = 12;

/** A frame of flagd.sync.v1. */
function flagdFrame(text: string, isPacked = false): Buffer {
  const whole = Buffer.from(
    syncV1.SyncFlagsResponse.encode({ flagConfiguration: text, syncContext: undefined }).finish(),
  );
  const body = isPacked ? gzipSync(whole) : whole;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(Number(isPacked));
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

const documentOf = (...keys: readonly string[]): string =>
  JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) });

describe("a grpc remote that is hostile", () => {
  let server: HostileSyncServer;
  const listeners: RemoteListener[] = [];
  afterEach(async () => {
    for (const listener of listeners.splice(0)) await listener.stop();
    server.stop();
  });

  async function listen(
    serve: (stream: ServerHttp2Stream) => void,
    fields: Partial<Listening> & { readonly isFlagd?: boolean } = {},
  ): Promise<RemoteListener> {
    const { isFlagd = false, ...more } = fields;
    server = new HostileSyncServer((stream, path) => {
      if (isFlagd && path.includes("bunting")) refuse(stream, unimplemented);
      else serve(stream);
    });
    const address = await server.listen();
    const listener = new RemoteListener({
      provider: { type: "grpc", uri: `grpc://${address}`, selector: topic, intervalMs: 60_000 },
      hosts: [`http://${address}=127.0.0.1`],
      ...more,
    });
    listeners.push(listener);
    return listener;
  }

  /** The keys of each document that was heard until one has this key. */
  async function heardUntil(listener: RemoteListener, last: string): Promise<readonly string[]> {
    const keys: string[] = [];
    while (keys.at(-1) !== last) {
      const heard = await listener.heard.nextEvent();
      if ("document" in heard) keys.push(Object.keys(heard.document.flags).join());
    }
    return keys;
  }

  it("is followed version by version no faster than once a second, by flagd.sync.v1 to the newest", async () => {
    const listener = await listen(
      (stream) => {
        open(stream);
        for (let version = 0; version <= 99; version++) stream.write(flagdFrame(documentOf(`v${version}`)));
      },
      { isFlagd: true },
    );
    expect(await heardUntil(listener, "v99")).to.have.length.within(1, 2);
  });

  it("is answered by bunting.sync.v1 only once a version is taken, whatever it sends meanwhile", async () => {
    const listener = await listen((stream) => {
      open(stream);
      onSubscribe(stream, () => {
        for (let version = 1; version <= 3; version++)
          stream.write(snapshot(topic, { [`v${version}`]: flag }, { digest: digest(version) }));
        stream.write(snapshot(topic, { other: flag }, { digest: digest(9) }).subarray(0, 7));
      });
    });
    const startMs = performance.now();
    expect(await heardUntil(listener, "v3")).to.deep.equal(["v1", "v2", "v3"]);
    // Two waits of a second lie between them, however busy the machine is.
    expect(performance.now() - startMs).to.be.at.least(1_990);
  });

  for (const isFlagd of [true, false])
    it(`is not read beyond the heap that is free, by ${isFlagd ? "flagd" : "bunting"}.sync.v1`, async () => {
      const many = Array.from({ length: 500 }, (_, index) => `k${index}`);
      const listener = await listen(
        (stream) => {
          open(stream);
          if (isFlagd) stream.write(flagdFrame(documentOf(...many)));
          else onSubscribe(stream, () => stream.write(snapshot(topic, documentOf(...many))));
        },
        { isFlagd, heapBytes: () => 200_000 },
      );
      const { reason, message } = await listener.failure();
      expect(reason).to.equal("DocumentInvalid");
      expect(message).to.contain("more heap than is free");
    });

  for (const isFlagd of [true, false])
    it(`is said once to be too large for the heap, and read once there is heap for it, by ${isFlagd ? "flagd" : "bunting"}.sync.v1`, async () => {
      let heapBytes = 0;
      const listener = await listen(
        (stream) => {
          open(stream);
          if (isFlagd) stream.write(flagdFrame(documentOf("late")));
          else onSubscribe(stream, () => stream.write(snapshot(topic, documentOf("late"))));
        },
        { isFlagd, heapBytes: () => heapBytes },
      );
      expect((await listener.failure()).message).to.contain("more heap than is free");
      heapBytes = Infinity;
      expect(await listener.heard.nextEvent()).to.have.nested.property("document.flags.late");
    });

  it("brings no message that is small until it is unpacked", async () => {
    const listener = await listen(
      (stream) =>
        void open(stream, { "grpc-encoding": "gzip" }).write(flagdFrame("x".repeat(5_000_000), true)),
      { isFlagd: true },
    );
    expect((await listener.failure()).reason).to.be.oneOf(["ResourceExhausted", "TooLarge"]);
  });

  it("is served without the flags that can't be, and refused if there is none besides", async () => {
    const listener = await listen((stream) => {
      open(stream);
      onSubscribe(stream, () => {
        stream.write(snapshot(topic, { bad: 1, one: flag }, { digest: digest(1) }));
        stream.write(snapshot(topic, { bad: 1 }, { digest: digest(2) }));
      });
    });
    await listener.document("one");
    const { reason, message } = await listener.failure();
    expect([reason, message.includes("bad")]).to.deep.equal(["DocumentInvalid", true]);
  });

  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  const evils: readonly [what: string, frames: readonly Buffer[]][] = [
    ["a document that is nested deep", [snapshot(topic, `{"flags":{"a":{"targeting":{"if":${deep}}}}}`)]],
    ["no document", [snapshot(topic, "[]")]],
    ["half a document", [snapshot(topic, documentOf("one").slice(0, -1))]],
    ["an empty document", [snapshot(topic, "")]],
    [
      "a delta that is nested deep",
      [
        snapshot(topic, { one: flag }, { digest: digest(1) }),
        encode({
          $case: "delta",
          value: {
            ...{ topic, fromDigest: digest(1), version: versionWith({ digest: digest(2) }) },
            ...{
              flags: [{ key: "one", flag: Buffer.from(deep) }],
              metadata: undefined,
              evaluators: undefined,
            },
          },
        }),
      ],
    ],
  ];
  for (const [what, frames] of evils)
    it(`tells a failure of ${what}`, async () => {
      const listener = await listen((stream) => {
        open(stream);
        onSubscribe(stream, () => frames.forEach((frame) => stream.write(frame)));
      });
      expect((await listener.failure()).reason).to.equal("DocumentInvalid");
    });

  it("costs one connection, however often it ends streams", async () => {
    const listener = await listen((stream) => {
      open(stream);
      stream.close();
    });
    for (let end = 0; end < 3; end++) await listener.failure();
    await eventually(() => server.connections <= 1, "one connection");
  });
});

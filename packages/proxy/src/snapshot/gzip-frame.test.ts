import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { frameMessage } from "@bunting/rpc";
import { acceptsGzip, GzipFrame } from "./gzip-frame.js";

const repetitive = (bytes: number): Buffer => Buffer.alloc(bytes, '{"flags":{"welcome-banner":true}}');

/** Takes a frame, however it is made. */
function taken(frame: GzipFrame): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const now = frame.take({ frameReady: () => resolve(frame.take({ frameReady: never })) });
    if (now !== undefined) resolve(now);
  });
}

function never(): void {
  throw new Error("called although the frame was there");
}

describe("a gzip frame", () => {
  for (const bytes of [2_000, 100_000, 128 * 1_024, 1_000_000]) {
    it(`holds ${bytes} bytes compressed, with the compressed flag, in one buffer for all`, async () => {
      const message = repetitive(bytes);
      const frame = new GzipFrame(frameMessage(message));
      const [first, second] = await Promise.all([taken(frame), taken(frame)]);
      expect(first).to.be.instanceOf(Buffer);
      expect(first).to.equal(second);
      expect(await taken(frame)).to.equal(first);
      expect(first?.[0]).to.equal(1);
      expect(first?.readUInt32BE(1)).to.equal((first?.length ?? 0) - 5);
      expect(first?.length).to.be.lessThan(bytes / 4);
      expect(gunzipSync(first?.subarray(5) ?? "").equals(message)).to.be.true;
    });
  }

  it("is made at once if that is quick, else in the thread pool", () => {
    expect(new GzipFrame(frameMessage(repetitive(100_000))).take({ frameReady: never })).to.exist;
    const large = new GzipFrame(frameMessage(repetitive(1_000_000)));
    expect(large.take({ frameReady: () => undefined })).to.be.undefined;
  });

  it("is the plain frame if there is nothing to gain", async () => {
    for (const message of [repetitive(1_023), randomBytes(5_000), randomBytes(200_000)]) {
      const plain = frameMessage(message);
      expect(await taken(new GzipFrame(plain))).to.equal(plain);
    }
  });

  it("calls all waiters, in several turns of the event loop if there are many", async () => {
    const frame = new GzipFrame(frameMessage(repetitive(300_000)));
    const perTurn: number[] = [];
    let called = 0;
    let turn = 0;
    await new Promise<void>((resolve) => {
      const frameReady = (): void => {
        if (turn++ === 0) setImmediate(() => perTurn.push(called));
        if (++called === 1_000) resolve();
      };
      for (let i = 0; i < 1_000; i++) expect(frame.take({ frameReady })).to.be.undefined;
    });
    expect(perTurn).to.deep.equal([256]);
    // Not a moment later, either: somebody may come while the others are being called.
    expect(frame.take({ frameReady: never })).to.exist;
  });
});

describe("grpc-accept-encoding", () => {
  it("lists gzip as a whole word, among others or alone", () => {
    for (const value of ["gzip", "identity,deflate,gzip", "identity, gzip ,x"])
      expect(acceptsGzip(value), value).to.be.true;
    for (const value of [undefined, "", "identity", "gzipped", "x-gzip", "identity,deflate"])
      expect(acceptsGzip(value), value).to.be.false;
  });
});

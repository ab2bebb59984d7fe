import { expect } from "chai";
import fc from "fast-check";
import { frameMessage } from "./framing.js";
import { MessageDeframer, soleMessage } from "./message-deframer.js";
import { type OpenAccount } from "@bunting/http2";
import { PeerMemory } from "@bunting/server";
import { RpcError } from "@bunting/http2/status";

function account(): OpenAccount {
  return new PeerMemory(Number.POSITIVE_INFINITY).open(() => undefined);
}

/** Splits bytes at the given positions. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  const starts = [0, ...ends];
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length));
}

function codeOf(action: () => void): string {
  try {
    action();
  } catch (error) {
    return error instanceof RpcError ? error.code : String(error);
  }
  return "nothing thrown";
}

describe("MessageDeframer", () => {
  it("returns the messages that were framed, wherever the bytes are split", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.boolean()), { maxLength: 6 }),
        fc.array(fc.nat(300), { maxLength: 12 }),
        (messages, places) => {
          const bytes = Buffer.concat(
            messages.map(([message, compressed]) => frameMessage(message, compressed)),
          );
          const deframer = new MessageDeframer(40, account());
          const received: [Uint8Array, boolean][] = [];
          for (const chunk of cut(bytes, places)) {
            // As node does with its read buffer: a pushed chunk may be overwritten once it has been handled.
            const volatile = Buffer.from(chunk);
            deframer.push(volatile, (message, compressed) =>
              received.push([Uint8Array.from(message), compressed]),
            );
            volatile.fill(0xff);
          }
          expect(received).to.deep.equal(messages);
          expect(deframer.isAtBoundary).to.equal(true);
        },
      ),
    );
  });

  it("knows when it is in the middle of a message", () => {
    const deframer = new MessageDeframer(100, account());
    deframer.push(frameMessage(Buffer.from("abc")).subarray(0, 7), () =>
      expect.fail("no message is complete"),
    );
    expect(deframer.isAtBoundary).to.equal(false);
  });

  it("refuses a message whose announced length exceeds the limit, before it arrives", () => {
    const prefix = frameMessage(Buffer.alloc(11)).subarray(0, 5);
    expect(codeOf(() => new MessageDeframer(10, account()).push(prefix, () => undefined))).to.equal(
      "RESOURCE_EXHAUSTED",
    );
    const split = new MessageDeframer(10, account());
    split.push(prefix.subarray(0, 3), () => undefined);
    expect(codeOf(() => split.push(prefix.subarray(3), () => undefined))).to.equal("RESOURCE_EXHAUSTED");
  });

  it("refuses a frame that starts with an unknown flag", () => {
    const frame = frameMessage(Buffer.from("x"));
    frame[0] = 2;
    expect(codeOf(() => new MessageDeframer(10, account()).push(frame, () => undefined))).to.equal(
      "INTERNAL",
    );
  });

  it("holds memory for the bytes received, not for the announced length or for each piece", () => {
    const announced = 512 * 1024 * 1024;
    const deframer = new MessageDeframer(announced, account());
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(announced, 1);
    const before = process.memoryUsage();
    deframer.push(prefix, () => undefined);
    for (let piece = 0; piece < 100_000; piece += 1) deframer.push(Buffer.from([1]), () => undefined);
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).to.be.below(20 * 1024 * 1024);
  });
});

describe("soleMessage", () => {
  it("accepts a chunk that is one whole uncompressed frame, and no other", () => {
    const frame = frameMessage(Buffer.from("abc"));
    expect(soleMessage(frame, 3)?.toString()).to.equal("abc");
    expect(soleMessage(frameMessage(Buffer.alloc(0)), 3)).to.have.length(0);
    expect(soleMessage(frame, 2), "too large").to.equal(undefined);
    expect(soleMessage(frame.subarray(0, 7), 3), "cut short").to.equal(undefined);
    expect(soleMessage(Buffer.concat([frame, frame]), 100), "two frames").to.equal(undefined);
    expect(soleMessage(frameMessage(Buffer.from("abc"), true), 3), "compressed").to.equal(undefined);
    expect(soleMessage(Buffer.alloc(3), 3), "no prefix").to.equal(undefined);
  });
});

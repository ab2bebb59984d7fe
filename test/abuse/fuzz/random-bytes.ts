import { dataFrame, frame, frameHeaderBytes, frameType, preface } from "../../../bench/load/http2-frames.js";
import { mutateBytes } from "./mutate-bytes.js";
import type { Random } from "../../../bench/fixtures/random.js";

const maxFrameType = 0xc;

type FrameMaker = (random: Random, streamId: number) => Buffer;

const makers: readonly FrameMaker[] = [
  // A header block of any bytes: HPACK with indexes, Huffman codes and table sizes that mean nothing.
  (random, streamId) =>
    frame(frameType.headers, random.pick([0, 1, 4, 5, 0x2d]), streamId, random.bytes(random.below(200))),
  (random, streamId) => frame(0x9, random.pick([0, 4]), streamId, random.bytes(random.below(100))),
  (random, streamId) => dataFrame(streamId, random.bytes(random.below(300)), random.chance(0.3)),
  (random, streamId) =>
    frame(frameType.data, 0x8, streamId, Buffer.concat([Buffer.of(random.below(256)), random.bytes(20)])),
  (random, streamId) =>
    frame(
      frameType.windowUpdate,
      0,
      random.pick([0, streamId]),
      uint32(random.pick([0, 1, 2 ** 31 - 1, 2 ** 32 - 1])),
    ),
  (random, streamId) => frame(frameType.rstStream, 0, streamId, uint32(random.below(16))),
  (random) => frame(frameType.settings, random.pick([0, 1]), 0, setting(random)),
  (random) => frame(frameType.ping, random.pick([0, 1]), 0, random.bytes(8)),
  (random) => frame(frameType.goaway, 0, 0, random.bytes(8 + random.below(20))),
  (random, streamId) => frame(frameType.pushPromise, 4, streamId, random.bytes(20)),
  (random, streamId) => frame(0x2, 0, streamId, random.bytes(5)),
  (random) =>
    frame(random.below(256), random.below(256), random.below(2 ** 31), random.bytes(random.below(50))),
];

/** The bytes of an HTTP/2 connection: requests and other frames in any order, of which some break the protocol. */
export function randomHttp2(random: Random, request: (streamId: number) => Buffer): Buffer {
  const parts: Buffer[] = [random.chance(0.97) ? preface : mutateBytes(random, preface)];
  parts.push(frame(frameType.settings, 0, 0, random.chance(0.5) ? Buffer.alloc(0) : setting(random)));
  let streamId = 1;
  for (let left = 1 + random.below(20); left > 0; left--) {
    const id = random.chance(0.9) ? streamId : random.pick([0, 2, 1, 2 ** 31 - 1]);
    if (random.chance(0.5)) {
      parts.push(request(id));
      streamId += 2;
    } else parts.push(random.pick(makers)(random, random.chance(0.7) ? Math.max(1, id - 2) : id));
  }
  const mutated = parts.map((part, index) =>
    index > 1 && random.chance(0.08) ? mutateFrame(random, part) : part,
  );
  const bytes = Buffer.concat(mutated);
  return random.chance(0.1) ? mutateBytes(random, bytes) : bytes;
}

/** The same payload under another length, type, flags or stream; or the whole frame mutated. */
function mutateFrame(random: Random, bytes: Buffer): Buffer {
  if (random.chance(0.4) || bytes.length < frameHeaderBytes) return mutateBytes(random, bytes);
  const copy = Buffer.from(bytes);
  const at = random.pick([2, 3, 4, 8]);
  copy[at] = at === 3 ? random.below(maxFrameType) : random.below(256);
  return copy;
}

function setting(random: Random): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(random.below(9), 0);
  payload.writeUInt32BE(random.pick([0, 1, 100, 16_384, 65_535, 2 ** 31 - 1, 2 ** 32 - 1]), 2);
  return payload;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The bytes of an HTTP/1.1 connection with one or several requests, of which some are mutated. */
export function randomHttp1(
  random: Random,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Buffer {
  const framing = random.pick<() => Record<string, string>>([
    () => ({ "content-length": String(body.length) }),
    () => ({ "content-length": String(body.length + random.pick([-1, 1, 1e9])) }),
    () => ({ "transfer-encoding": "chunked" }),
    () => ({ "transfer-encoding": "chunked", "content-length": "5" }),
    () => ({ expect: "100-continue", "content-length": String(body.length) }),
    () => ({ connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" }),
    () => ({ connection: "upgrade", upgrade: "websocket" }),
  ])();
  const fields = Object.entries({ host: "fuzz", ...headers, ...framing });
  const head = `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  const isChunked = "transfer-encoding" in framing;
  const content = isChunked
    ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])
    : body;
  const request = Buffer.concat([Buffer.from(head), content]);
  const many = Buffer.concat(Array.from({ length: random.pick([1, 1, 3]) }, () => request));
  return random.chance(0.6) ? mutateBytes(random, many) : many;
}

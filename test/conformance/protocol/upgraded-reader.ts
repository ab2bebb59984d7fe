import type { Socket } from "node:net";
import type { Exchange } from "./exchange.js";
import { resetEnd } from "./http2-client.js";

const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, goaway: 7 } as const;
const frameHeadBytes = 9;

/**
 * Reads the answer that follows `101 Switching Protocols`, as stream 1 of HTTP/2: its status and its data. node:http2 can't take over a
 * connection in this state, so the few frames that matter are read here.
 */
export class UpgradedReader {
  readonly #exchange: Exchange;
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(exchange: Exchange, socket: Socket) {
    this.#exchange = exchange;
    this.#socket = socket;
    socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settingsFrame(0)]));
  }

  push(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    while (this.#buffer.length >= frameHeadBytes) {
      const end = frameHeadBytes + this.#buffer.readUIntBE(0, 3);
      if (this.#buffer.length < end) return;
      const [type, flags, stream] = [this.#buffer[3], this.#buffer[4] ?? 0, this.#buffer.readUInt32BE(5)];
      this.#frame(type ?? 0, flags, stream, this.#buffer.subarray(frameHeadBytes, end));
      this.#buffer = this.#buffer.subarray(end);
    }
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    const isAck = (flags & 1) !== 0;
    if (type === frameTypes.settings && !isAck) this.#socket.write(settingsFrame(1));
    else if (type === frameTypes.goaway) this.#exchange.finish("closed");
    if (stream !== 1) return;
    if (type === frameTypes.reset) this.#exchange.finish(resetEnd(payload.readUInt32BE(0)));
    else if (type === frameTypes.headers) this.#exchange.status ??= statusOf(payload);
    else if (type === frameTypes.data) this.#exchange.push(Buffer.from(payload));
    if ((type === frameTypes.headers || type === frameTypes.data) && (flags & 1) !== 0)
      this.#exchange.finish("complete");
  }
}

function settingsFrame(flags: number): Buffer {
  return Buffer.from([0, 0, 0, frameTypes.settings, flags, 0, 0, 0, 0]);
}

/** The statuses in the static table of HPACK. */
const indexed = new Map([
  [0x88, 200],
  [0x89, 204],
  [0x8a, 206],
  [0x8b, 304],
  [0x8c, 400],
  [0x8d, 404],
  [0x8e, 500],
]);

/** The status of a header block, which is its first field: an entry of the static table, or a literal. */
function statusOf(block: Buffer): number {
  let at = 0;
  // Updates of the size of the dynamic table may come before it.
  while (((block[at] ?? 0) & 0xe0) === 0x20) at++;
  const known = indexed.get(block[at] ?? 0);
  if (known !== undefined) return known;
  const length = block[at + 1] ?? 0;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number((length & 0x80) === 0 ? value.toString() : huffmanDigits(value));
}

/** In HPACK's Huffman code, 0, 1 and 2 have five bits, the other digits six, from 011001 on. */
function huffmanDigits(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let digits = "";
  while (digits.length < 3 && bits.length >= 5) {
    const short = Number.parseInt(bits.slice(0, 5), 2);
    digits += String(short < 3 ? short : Number.parseInt(bits.slice(0, 6), 2) - 0b011001 + 3);
    bits = bits.slice(short < 3 ? 5 : 6);
  }
  return digits;
}

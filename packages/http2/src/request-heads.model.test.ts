import { expect } from "chai";
import { modelSeeds } from "@bunting/test/support/seed.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { staticEntries, staticTable } from "./hpack/static-table.js";
import type { RequestHead } from "./request-head.js";
import { RequestHeads } from "./request-heads.js";

type Field = readonly [name: string, value: string];

const connectionsAtOnce = 6;
const blocksPerRun = 6_000;
const isGrpc = (fields: Readonly<Record<string, unknown>>): boolean =>
  fields["content-type"] === "application/grpc";

/** Texts with their Huffman code, from the examples of RFC 7541. */
const huffman: Readonly<Record<string, string>> = {
  "www.example.com": "f1e3c2e5f23a6ba0ab90f4ff",
  "no-cache": "a8eb10649cbf",
  "custom-key": "25a849e95ba97d7f",
  "custom-value": "25a849e95bb8e8b4bf",
};
/** Few, so that heads are equal often, and nearly equal even more so. */
const names = [
  "authorization",
  "authorization",
  "custom-key",
  "x-b",
  "host",
  "content-length",
  "te",
  "Upper",
];
const values: Readonly<Record<string, readonly string[]>> = {
  authorization: ["Bearer a", "Bearer b", "Bearer c", ` Bearer ${"d".repeat(700)}`],
  te: ["trailers", "gzip"],
  "content-length": ["0", "7", "x"],
};
const anyValues = ["custom-value", "no-cache", "", " v ", "v".repeat(300), "\u00e9", "a\u0001"];
const pseudo: readonly Field[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/a"],
  [":authority", "www.example.com"],
];
const others: Readonly<Record<string, readonly string[]>> = {
  ":method": ["GET"],
  ":scheme": ["https"],
  ":path": ["/b", "/", "no path"],
  ":authority": ["other.example.com", ""],
};

/** Forms of a literal that is not added to the table. */
const unindexed = [
  [0, 4],
  [0x10, 4],
] as const;

/** HPACK as RFC 7541 describes it, word by word, and as slow: the newest entry of the table is the first. */
class ReferenceDecoder {
  readonly #table: Field[] = [];
  #limit = 4_096;

  get entries(): number {
    return this.#table.length;
  }

  /** Undefined if the block is invalid. */
  decode(block: Buffer): readonly Field[] | undefined {
    const fields: Field[] = [];
    let rest: Buffer = block;
    const integer = (bits: number): number => {
      const max = 2 ** bits - 1;
      let value = (rest[0] ?? 0) & max;
      rest = rest.subarray(1);
      if (value < max) return value;
      for (let factor = 1; ; factor *= 128) {
        const byte = rest[0];
        if (byte === undefined || factor > 128 ** 3) throw new RangeError("an integer");
        rest = rest.subarray(1);
        value += (byte & 0x7f) * factor;
        if (byte < 128) return value;
      }
    };
    const text = (): string => {
      const isCoded = (rest[0] ?? 0) >= 128;
      if (rest.length === 0) throw new RangeError("a text");
      const length = integer(7);
      if (length > rest.length) throw new RangeError("a text");
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (!isCoded) return bytes.toString("latin1");
      const plain = Object.keys(huffman).find((key) => huffman[key] === bytes.toString("hex"));
      if (plain === undefined) throw new RangeError("a code");
      return plain;
    };
    const entry = (index: number): Field => {
      const name = staticTable[(index - 1) * 2];
      const found =
        index <= staticEntries ? [name, staticTable[index * 2 - 1]] : this.#table[index - staticEntries - 1];
      const [first, second] = found ?? [];
      if (index === 0 || first === undefined || second === undefined) throw new RangeError("an index");
      return [first, second];
    };
    try {
      while (rest.length > 0) {
        const first = rest[0] ?? 0;
        if (first >= 0x80) fields.push(entry(integer(7)));
        else if (first >= 0x20 && first < 0x40) {
          const limit = integer(5);
          if (fields.length > 0 || limit > 4_096) throw new RangeError("a size");
          this.#limit = limit;
          this.#evict();
        } else {
          const index = integer(first >= 0x40 ? 6 : 4);
          const name = index === 0 ? text() : entry(index)[0];
          const field: Field = [name, text()];
          fields.push(field);
          if (first < 0x40) continue;
          this.#table.unshift(field);
          this.#evict();
        }
      }
      return fields;
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #evict(): void {
    const bytes = (): number =>
      this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (bytes() > this.#limit) this.#table.pop();
  }
}

/** A client of one connection, and what its blocks mean. */
interface Peer {
  readonly heads: RequestHeads;
  readonly reference: ReferenceDecoder;
  readonly sent: Buffer[];
}

const newPeer = (): Peer => ({
  heads: new RequestHeads(65_536, isGrpc),
  reference: new ReferenceDecoder(),
  sent: [],
});

/** What a request with these fields has to be: undefined if it is malformed. */
function expectedFields(list: readonly Field[]): Record<string, string> | undefined {
  const fields: Record<string, string> = {};
  let hasRegular = false;
  for (const [name, padded] of list) {
    const value = padded.replace(/^[ \t]+|[ \t]+$/g, "");
    const before = fields[name];
    if (/[A-Z]/.test(name) || /[\0-\x08\x0a-\x1f\x7f]/.test(value)) return undefined;
    if (name.startsWith(":")) {
      if (hasRegular || before !== undefined || !pseudo.some(([each]) => each === name)) return undefined;
    } else hasRegular = true;
    if (before !== undefined && (name === "content-length" || name === "host")) return undefined;
    if (name === "te" && value !== "trailers") return undefined;
    if (name === "content-length" && !/^\d+$/.test(value)) return undefined;
    if (before === undefined) fields[name] = value;
    else if (name === "authorization") fields[name] = `${before}, ${value}`;
  }
  const hasAll = [":method", ":scheme", ":path"].every((name) => fields[name] !== undefined);
  if (!hasAll || (fields[":authority"] ?? fields["host"]) === undefined) return undefined;
  return fields[":path"]?.startsWith("/") === true ? fields : undefined;
}

describe("RequestHeads, with connections whose tables differ", () => {
  for (const seed of modelSeeds(3))
    it(`has the head that each block stands for on its own connection, and no other's (seed ${seed})`, () => {
      const random = seededRandom(seed);
      const below = (count: number): number => Math.floor(random() * count);
      const one = <T>(all: readonly T[]): T => all[below(all.length)] as T;
      const peers = Array.from({ length: connectionsAtOnce }, newPeer);
      let shared = 0;
      let served = 0;
      let refused = 0;

      const text = (plain: string): Buffer => {
        const coded = random() < 0.5 ? huffman[plain] : undefined;
        const bytes = coded === undefined ? Buffer.from(plain, "latin1") : Buffer.from(coded, "hex");
        return Buffer.concat([integer(coded === undefined ? 0 : 0x80, 7, bytes.length), bytes]);
      };
      /** True while a block is made that leaves the table as it is, so that its head is kept. */
      let isStable = false;
      const literal = ([name, value]: Field): Buffer => {
        const [first, bits] = isStable
          ? one(unindexed)
          : one([
              [0x40, 6],
              [0x40, 6],
              [0, 4],
              [0x10, 4],
            ] as const);
        const index = random() < 0.7 ? indexOf(name) : 0;
        const begin = integer(first, bits, index);
        return Buffer.concat(index === 0 ? [begin, text(name), text(value)] : [begin, text(value)]);
      };
      /** Of the table, whatever it is by then: where connections differ. */
      const indexed = (entries: number): Buffer =>
        integer(0x80, 7, staticEntries + 1 + below(entries + (random() < 0.02 ? 1 : 0)));
      const fresh = ({ reference }: Peer): Buffer => {
        const parts: Buffer[] = [];
        isStable = random() < 0.7;
        while (random() < 0.05) parts.push(integer(0x20, 5, one([0, 60, 200, 4_096, 4_096])));
        let { entries } = reference;
        if (parts.length > 0) entries = 0;
        for (const [name, value] of pseudo)
          if (random() < 0.99) parts.push(literal([name, random() < 0.8 ? value : one(others[name] ?? [])]));
        const more = random() < 0.5 ? [["content-type", "application/grpc"] as const] : [];
        for (const field of more) parts.push(literal(field));
        for (let count = below(4); count > 0; count--) {
          const name = one(names);
          if (entries > 0 && random() < 0.5) parts.push(indexed(entries));
          else if (random() < 0.9 || name !== "Upper")
            parts.push(literal([name, one(values[name] ?? anyValues)]));
        }
        return Buffer.concat(parts);
      };
      /** The same bytes again: those of the connection mostly, else of another, for which they meant something else. */
      const next = (peer: Peer): Buffer => {
        const from = random() < 0.6 ? peer : one(peers);
        if (from.sent.length === 0 || random() < 0.3) return fresh(peer);
        return one(from.sent);
      };

      for (let count = 0; count < blocksPerRun; count++) {
        const at = below(peers.length);
        const peer = peers[at] ?? newPeer();
        const block = next(peer);
        const list = peer.reference.decode(block);
        // Others' bytes around it, as in a chunk of a socket.
        const bytes = Buffer.concat([Buffer.of(0x82), block, Buffer.of(0xbe)]);
        const [start, end] = [1, 1 + block.length];
        const isTrailers = random() < 0.1;
        const known: RequestHead | undefined = isTrailers ? undefined : peer.heads.known(bytes, start, end);
        let head = known;
        if (known === undefined) {
          const decoded = peer.heads.decode(bytes, start, end);
          expect(decoded === undefined, block.toString("hex")).to.equal(list === undefined);
          if (decoded !== undefined && list !== undefined) {
            expect(decoded.fields).to.deep.equal(list.flat());
            // Trailers, and requests that are refused before their head is looked at, change the table all the same.
            if (!isTrailers && random() < 0.9) head = peer.heads.headOf(decoded, bytes.subarray(start, end));
            else continue;
          }
        } else shared++;
        bytes.fill(0xff);
        if (list === undefined || random() < 0.01) {
          peers[at] = newPeer();
          continue;
        }
        const expected = expectedFields(list);
        expect(head === undefined ? undefined : { ...head.fields }, block.toString("hex")).to.deep.equal(
          expected,
        );
        if (head === undefined || expected === undefined) refused++;
        else {
          served++;
          expect(head.isGrpc).to.equal(isGrpc(expected));
          expect(head.contentLength).to.equal(Number(expected["content-length"] ?? -1));
          const raw = list.map(([name, value]) => [name, value.replace(/^[ \t]+|[ \t]+$/g, "")]).flat();
          expect(head.rawHeaders).to.deep.equal(head.isGrpc ? [] : raw);
        }
        peer.sent.push(block);
        if (peer.sent.length > 8) peer.sent.shift();
      }
      // The cases that the model is about have happened often.
      expect(shared, "heads that were not decoded again").to.be.greaterThan(blocksPerRun / 50);
      expect(served, "requests").to.be.greaterThan(blocksPerRun / 5);
      expect(refused, "malformed requests").to.be.greaterThan(blocksPerRun / 50);
    });
});

function indexOf(name: string): number {
  const at = staticTable.findIndex((each, place) => place % 2 === 0 && each === name);
  return at < 0 ? 0 : at / 2 + 1;
}

function integer(first: number, bits: number, value: number): Buffer {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.of(first | value);
  const bytes = [first | max];
  let rest = value - max;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

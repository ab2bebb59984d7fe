import type { Random } from "../../../bench/fixtures/random.js";

const boundaries = [0x00, 0x01, 0x7f, 0x80, 0xff];

type Mutation = (random: Random, bytes: Buffer) => Buffer;

const mutations: readonly Mutation[] = [
  // One bit, one byte, a byte at a boundary.
  (random, bytes) => withByte(random, bytes, (byte) => byte ^ (1 << random.below(8))),
  (random, bytes) => withByte(random, bytes, () => random.below(256)),
  (random, bytes) => withByte(random, bytes, () => random.pick(boundaries)),
  // Cut off, cut out, repeated, inserted.
  (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1)),
  (random, bytes) => {
    const [from, to] = range(random, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (random, bytes) => {
    const [from, to] = range(random, bytes);
    const times = random.pick([1, 2, 10]);
    const repeated = Array.from({ length: times }, () => bytes.subarray(from, to));
    return Buffer.concat([bytes.subarray(0, to), ...repeated, bytes.subarray(to)]);
  },
  (random, bytes) => {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at)]);
  },
];

/** A copy that differs in few places. */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  let mutated = Buffer.from(bytes);
  for (let left = random.pick([1, 1, 2, 4]); left > 0; left--) {
    mutated = Buffer.from(random.pick(mutations)(random, mutated));
  }
  return mutated;
}

function withByte(random: Random, bytes: Buffer, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const at = random.below(bytes.length);
  bytes[at] = change(bytes[at] ?? 0);
  return bytes;
}

function range(random: Random, bytes: Buffer): [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + 1 + random.below(64))];
}

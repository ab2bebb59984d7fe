import type { Measurements } from "./fan-out/measurements.js";
import { fanOutCase } from "./fan-out/fan-out-case.js";
import type { Target } from "./support/bench-case.js";
import { bytesText } from "./support/format.js";

/** The cases that send one document to many subscribers; docs/benchmarks.md describes what they have in common. */

const KB = 1000;
const MB = 1_000_000;
const sevenRounds = () => 7;

export const fanOutCases = [
  fanOutCase({
    name: "fan-out",
    method:
      "Every subscriber has a connection of its own. The naive server is grpc-js with a `call.write(message)` for each open call. " +
      "“From rename” is the shipped binary on a directory in which a new file is renamed over the old one; the time starts before the `rename`.",
    connections: 10_000,
    streams: 1,
    payloads: [KB, 10 * KB, 100 * KB],
    entries: ["floor", "wide-floor", "plain", "naive", "publish", "rename"],
    // Short times vary more from round to round.
    rounds: (bytes) => (bytes < 100 * KB ? 21 : 7),
    targets: (measured) => [
      toFloor(measured, KB, 1.5),
      toFloor(measured, 10 * KB, 1.5),
      toFloor(measured, 100 * KB, 2.7),
      {
        what: "100 KB from publish: median ratio to the naive server (at least 4 times as fast)",
        limit: 0.25,
        measured: measured.medianRatio("publish", "naive", 100 * KB),
        unit: "×",
      },
      ...[KB, 10 * KB, 100 * KB].map((bytes) => growth(measured, bytes)),
    ],
  }),
  fanOutCase({
    name: "fan-out-tls",
    method:
      "The shipped binary with TLS beside the same without it: each connection encrypts the document on its own. The certificate is of ECDSA P-256; " +
      "node's client and server agree on TLS 1.3. The client is node:tls, and decrypts on its own core.",
    connections: 10_000,
    streams: 1,
    payloads: [10 * KB],
    entries: ["rename", "rename-tls"],
    rounds: sevenRounds,
    targets: (measured) => [
      {
        what: "10 KB over TLS: median ratio to the time in plaintext",
        limit: 2,
        measured: measured.medianRatio("rename-tls", "rename", 10 * KB),
        unit: "×",
      },
    ],
  }),
  fanOutCase({
    name: "fan-out-streams",
    method: "The same 10,000 subscribers on 100 connections: each has 100 streams, which share its window.",
    connections: 100,
    streams: 100,
    payloads: [10 * KB, 100 * KB],
    entries: ["floor", "plain", "naive", "publish"],
    rounds: sevenRounds,
    targets: () => [],
  }),
  fanOutCase({
    name: "fan-out-large",
    method:
      "A document larger than many windows. The proxy encodes it in canonical form, like the other servers, and hashes each flag.",
    connections: 1_000,
    streams: 1,
    payloads: [MB],
    entries: ["floor", "wide-floor", "plain", "naive", "publish"],
    rounds: sevenRounds,
    targets: () => [],
  }),
  fanOutCase({
    name: "fan-out-gzip",
    method:
      "Subscribers that accept gzip, compared with the floor, which sends the document uncompressed. The proxy compresses each version once. The client " +
      "decompresses the beginning of the first of equal payloads and compares the others with it.",
    connections: 10_000,
    streams: 1,
    payloads: [100 * KB],
    entries: ["floor", "wide-floor", "gzip"],
    rounds: sevenRounds,
    targets: (measured) => [
      {
        what: "100 KB with gzip: median ratio to the floor that sends it as it is",
        limit: 1,
        measured: measured.medianRatio("gzip", "floor", 100 * KB),
        unit: "×",
      },
    ],
  }),
  fanOutCase({
    name: "fan-out-delta",
    method:
      "One flag of the document changes. Subscribers of bunting.sync.v1 acknowledge each version, and their time ends when the proxy has " +
      "the last acknowledgement; for comparison the same proxy and the floor send the whole document over flagd.sync.v1. Bytes are those of one " +
      "subscriber in both directions.",
    connections: 10_000,
    streams: 1,
    payloads: [100 * KB, MB],
    entries: ["floor", "publish", "bunting"],
    // A whole document of 1 MB to 10,000 subscribers is 10 GB per round.
    rounds: (bytes) => (bytes >= MB ? 5 : 7),
    targets: (measured) => [
      {
        what: "one flag of 1 MB, acknowledged: median time",
        limit: 0.4,
        measured: measured.medianMs("bunting", MB) / 1000,
        unit: "s",
      },
      {
        what: "one flag of 1 MB, acknowledged: bytes in relation to the whole document",
        limit: 0.01,
        measured: measured.bytesRatio("bunting", "publish", MB),
        unit: "×",
      },
    ],
  }),
];

function toFloor(measured: Measurements, bytes: number, limit: number): Target {
  return {
    what: `${bytesText(bytes)} from publish: median ratio to the floor`,
    limit,
    measured: measured.medianRatio("publish", "floor", bytes),
    unit: "×",
  };
}

function growth(measured: Measurements, bytes: number): Target {
  return {
    what: `RSS growth of the shipped proxy over all broadcasts of ${bytesText(bytes)}`,
    limit: 12,
    measured: measured.growthMb("rename", bytes),
    unit: "MB",
  };
}

import { requestFrames, prefixed } from "../support/hostile-peer.js";
import { digestOf, exampleContext, exampleDocument, randomDocument, randomManifest } from "./documents.js";
import { documentRoutes, portNames, type DocumentRoute, type FuzzCase, type PortName } from "./fuzz-case.js";
import {
  grpcMethods,
  messageType,
  randomMessage,
  type GrpcMethod,
  type Vocabulary,
} from "./grpc-messages.js";
import { mutateBytes } from "./mutate-bytes.js";
import { mutateJson } from "./mutate-json.js";
import { randomHttp1, randomHttp2 } from "./random-bytes.js";
import type { Random } from "../../../bench/fixtures/random.js";

/** Topics of the hostile proxies that the agent subscribes to. */
export const hostileTopics = { flagd: "default/flagd", bunting: "default/bunting" };
/** The topic of the proxy that mutated manifests are written for. */
export const fuzzedTopic = "default/fuzzed";
export const honestTopic = "default/honest";

const texts = [
  "",
  "on-off",
  "a",
  "x".repeat(5_000),
  "é\u{1f600}",
  "../../etc/passwd",
  "%00",
  "a,b=c",
  "__proto__",
];
const vocabulary: Vocabulary = {
  texts,
  bytes: [
    Buffer.alloc(0),
    Buffer.alloc(32),
    Buffer.alloc(31, 0xff),
    Buffer.from("{}"),
    Buffer.alloc(2_000, 0x61),
  ],
  byField: {
    flag_key: [...Object.keys(exampleDocument.flags), "on-off"],
    selector: [
      honestTopic,
      fuzzedTopic,
      "default/fuzzed-too",
      `core.openfeature.dev/${fuzzedTopic}`,
      "default/missing",
      "flagSetId=set",
      "file:/etc/passwd",
    ],
    topic: [honestTopic, fuzzedTopic, "default/missing"],
    service: ["", "flagd.sync.v1.FlagSyncService", "liveness"],
    file_containing_symbol: grpcMethods.map(({ service }) => service),
    key: ["a", "email", "targetingKey", "v", "plain"],
  },
};

const servicesOf: Readonly<Record<PortName, RegExp>> = {
  "proxy-sync": /sync|health|reflection/,
  "proxy-management": /health/,
  "agent-evaluation": /evaluation|schema|health|reflection/,
  "agent-sync": /sync\.v1|health/,
  "agent-ofrep": /health/,
  "agent-management": /health/,
};

/** A case that is the same for the same random numbers. */
export function randomCase(random: Random): FuzzCase {
  const roll = random.next();
  if (roll < 0.25) return randomBytesCase(random);
  if (roll < 0.55) return randomCall(random);
  if (roll < 0.75) return randomHttp(random);
  return randomDocumentCase(random);
}

function randomBytesCase(random: Random): FuzzCase {
  const port = random.pick(portNames);
  const { path, message } = randomRequest(random, port);
  const bytes = random.chance(0.7)
    ? randomHttp2(random, (streamId) =>
        requestFrames(streamId, path, { message, endsStream: random.chance(0.7) }),
      )
    : randomHttp1(
        random,
        "POST",
        path,
        { "content-type": "application/json" },
        Buffer.from(mutateJson(random, {})),
      );
  return { kind: "bytes", port, writes: pieces(random, bytes), endsAbruptly: random.chance(0.5) };
}

function pieces(random: Random, bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = random.pick([1, 9, 100, 5_000, 100_000]);
    // Few pieces, so that a case is quick.
    const end = parts.length > 6 ? bytes.length : at + length;
    parts.push(bytes.subarray(at, end));
    at = end;
  }
  return parts;
}

function randomCall(random: Random): FuzzCase {
  const port = random.pick(portNames);
  const { path, message } = randomRequest(random, port);
  const frames = [framed(random, message)];
  while (random.chance(0.3)) frames.push(framed(random, randomRequest(random, port).message));
  const body = Buffer.concat(frames);
  return {
    kind: "call",
    port,
    path: random.chance(0.97) ? path : `${path}${random.pick(["x", "/", "?a=b", "%2f"])}`,
    headers: randomHeaders(
      random,
      random.pick([
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web+proto",
        "application/proto",
        "application/json",
      ]),
    ),
    body: random.chance(0.2) ? mutateBytes(random, body) : body,
  };
}

function framed(random: Random, message: Buffer): Buffer {
  const frame = prefixed(
    message,
    random.chance(0.05) ? random.pick([0, message.length + 1, 2 ** 32 - 1]) : message.length,
  );
  // The flag that says whether a message is compressed.
  if (random.chance(0.05)) frame[0] = random.pick([1, 2, 255]);
  return frame;
}

function randomRequest(random: Random, port: PortName): { path: string; message: Buffer } {
  const own = grpcMethods.filter(({ service }) => servicesOf[port].test(service));
  const method: GrpcMethod = random.pick(random.chance(0.95) ? own : grpcMethods);
  const message = randomMessage(random, method.input, vocabulary);
  return { path: method.path, message: random.chance(0.4) ? mutateBytes(random, message) : message };
}

function randomHeaders(random: Random, contentType: string): Record<string, string> {
  const optional: readonly (readonly [string, readonly string[]])[] = [
    ["flagd-selector", [honestTopic, fuzzedTopic, "flagSetId=set", "a,b", "x".repeat(3_000)]],
    ["grpc-timeout", ["1n", "10m", "0S", "99999999H", "-1S", "1", "100000000000S"]],
    ["grpc-encoding", ["identity", "gzip", "snappy", ""]],
    ["grpc-accept-encoding", ["identity,gzip", "gzip", ",", "br"]],
    ["connect-protocol-version", ["1", "2"]],
    ["connect-timeout-ms", ["1", "-1", "99999999999999"]],
    ["if-none-match", ["*", '"x"', 'W/"x", "y"']],
    ["x-long", ["y".repeat(9_000)]],
  ];
  const headers: Record<string, string> = { "content-type": contentType };
  for (const [name, values] of optional) if (random.chance(0.15)) headers[name] = random.pick(values);
  return headers;
}

function randomHttp(random: Random): FuzzCase {
  const json = mutateJson(
    random,
    random.chance(0.5) ? { context: exampleContext } : { context: exampleContext, flagKey: "text" },
  );
  const body = Buffer.from(json);
  const [port, path] = random.pick<readonly [PortName, string]>([
    ["agent-ofrep", "/ofrep/v1/evaluate/flags"],
    [
      "agent-ofrep",
      `/ofrep/v1/evaluate/flags/${random.pick(["on-off", "split", "missing", "%2e%2e", "%zz", "a".repeat(3_000)])}`,
    ],
    [
      "agent-evaluation",
      random.pick(grpcMethods.filter(({ service }) => servicesOf["agent-evaluation"].test(service))).path,
    ],
    ["agent-management", random.pick(["/metrics", "/readyz", "/healthz", "/x"])],
    ["proxy-management", random.pick(["/metrics", "/readyz", "/healthz", "/status", "/status?x=y", "/x"])],
  ]);
  const isRead = port.endsWith("management") && random.chance(0.9);
  return {
    kind: "http",
    port,
    method: isRead
      ? "GET"
      : random.chance(0.95)
        ? "POST"
        : random.pick(["GET", "PUT", "DELETE", "OPTIONS", "PATCH"]),
    path,
    headers: randomHeaders(
      random,
      random.pick(["application/json", "application/json", "application/proto", "text/plain"]),
    ),
    body: isRead ? Buffer.alloc(0) : random.chance(0.15) ? mutateBytes(random, body) : body,
  };
}

function randomDocumentCase(random: Random): FuzzCase {
  const route = random.pick(documentRoutes);
  return { kind: "document", route, bytes: randomDelivery(random, route) };
}

function randomDelivery(random: Random, route: DocumentRoute): Buffer {
  if (route === "flagd") {
    const message = field(1, randomDocument(random));
    return random.chance(0.1) ? mutateBytes(random, message) : message;
  }
  if (route === "bunting") return randomSyncResponse(random);
  if (route === "directory-json") return randomManifest(random, "fuzzed");
  // Another name: of two files with the same FeatureFlag, only one is served.
  if (route === "directory-yaml") return randomManifest(random, "fuzzed-too");
  return randomDocument(random);
}

/** A SyncResponse: mostly a snapshot that the agent can take, else any message of the type. */
function randomSyncResponse(random: Random): Buffer {
  if (random.chance(0.6)) {
    const document = randomDocument(random);
    const version = Buffer.concat([field(1, Buffer.from("uid")), field(4, digestOf(document))]);
    return field(
      2,
      Buffer.concat([field(1, Buffer.from(hostileTopics.bunting)), field(2, version), field(3, document)]),
    );
  }
  const response = messageType("bunting.sync.v1.SyncResponse");
  const bytes = [
    ...vocabulary.bytes,
    Buffer.from(JSON.stringify(exampleDocument.flags.text)),
    randomDocument(random),
  ];
  const message = randomMessage(random, response, {
    texts,
    bytes,
    byField: { topic: [hostileTopics.bunting], key: Object.keys(exampleDocument.flags) },
  });
  return random.chance(0.2) ? mutateBytes(random, message) : message;
}

/** A length-delimited field of a protobuf message. */
function field(number: number, content: Buffer): Buffer {
  const head = [(number << 3) | 2];
  let rest = content.length;
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, rest]), content]);
}

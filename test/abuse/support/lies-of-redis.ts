import { gunzipSync, gzipSync } from "node:zlib";
import type { Lie } from "../../support/meddling-redis.js";
import { encodeResp, RespError, type RespValue } from "../../support/resp-values.js";

/** What opens a connection: it is not lied about, or nothing more would be asked. */
const opening = ["auth", "role", "client", "select", "hello"];
/** A number that no fencing number reaches before the year 2255. */
const late = "9007199254740000";
const lateVersion = "9".repeat(20);
/** The flag's value in records that are made up. */
export const madeUp = "made up";

/** The same in place of every reply. */
function always(value: RespValue | Buffer | undefined): Lie {
  return (reply, asked) => (opening.includes(asked) ? reply : value);
}

function cut(reply: RespValue): Buffer {
  const bytes = encodeResp(reply);
  return bytes.subarray(0, bytes.length >> 1);
}

/** Lies that are seen to be none of Redis, or that it does not work: whoever hears them has to do without it. */
export const blunt: Readonly<Record<string, Lie>> = {
  "a million empty texts": always(Buffer.from(`*1000000\r\n${"$0\r\n\r\n".repeat(1_000_000)}`)),
  "a text of 60 MB": always(Buffer.from(`*1\r\n$60000000\r\n${"x".repeat(60_000_000)}\r\n`)),
  "a text of 9 MB": always(["held", "x".repeat(9_000_000)]),
  "half a million replicas": (reply, asked) =>
    asked === "beat" ? Array.from({ length: 500_000 }, (_, index) => `replica-${index}`) : reply,
  "numbers in place of anything": always(5),
  "an error for each command": always(new RespError("ERR unknown command")),
  "that it knows no script": always(new RespError("NOSCRIPT No matching script")),
};

/** Lies that change from one reply to the next. */
export const mixed: readonly Lie[] = [
  ...[null, [], [[[["held"]]]], "held", ["held", late], [new RespError("ERR inside")], 1].map(always),
  ...["LOADING", "READONLY", "MOVED 1 127.0.0.1:1", "BUSY", "OOM", "NOAUTH"].map((word) =>
    always(new RespError(`${word} something`)),
  ),
  always(Buffer.from(">2\r\n+message\r\n+pushed\r\n")),
  always(Buffer.from("*3\r\n$5\r\nabc")),
  always(Buffer.from("$-7\r\n")),
  always(undefined),
  (reply, asked) => (opening.includes(asked) ? reply : cut(reply)),
  // Two answers for one command: all that follow are out of step.
  (reply, asked) => (opening.includes(asked) ? reply : Buffer.concat([encodeResp(reply), encodeResp(reply)])),
];

/** Records that nobody wrote, of an epoch and a version that no other is after; as if they were confirmed just now. */
export const madeUpRecords: Lie = (reply, asked) => {
  if (asked === "positions")
    return (reply as readonly string[]).map((one, index) =>
      one === "" ? one : ([late, lateVersion, "0"][index % 3] ?? ""),
    );
  if (asked !== "read" || !Array.isArray(reply) || reply[0] !== "record") return reply;
  const [state, fence, , body, signature] = reply as readonly string[];
  const [head, packed] = parted(Buffer.from(body ?? "", "latin1"));
  const document = gunzipSync(packed)
    .toString()
    .replace(/"on":"[^"]*"/, `"on":"${madeUp}"`);
  const fields = { ...(JSON.parse(head) as object), epoch: Number(late), resourceVersion: lateVersion };
  const made = Buffer.concat([
    Buffer.from(`${JSON.stringify({ ...fields, bytes: document.length, history: undefined })}\n`),
    gzipSync(document),
  ]);
  const answer = [state, fence, "0", made.toString("latin1"), signature, late, lateVersion, "document"];
  return answer.map((one) => one ?? "");
};

function parted(body: Buffer): readonly [string, Buffer] {
  const end = body.indexOf("\n");
  return [body.toString("utf8", 0, end), body.subarray(end + 1)];
}

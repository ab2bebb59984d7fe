import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { historyLength, type PastVersion } from "@bunting/protocol";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import type { BackplaneError } from "../backplane-error.js";
import { unlimitedRoom } from "./unlimited-room.fixture.js";
import { RecordCodec, type EncodedRecord } from "./record-codec.js";
import { RecordKeys } from "./record-keys.js";
import type { TopicRecord } from "./topic-record.js";

const record: TopicRecord = {
  topic: "demo/flags",
  kind: "document",
  epoch: 1_700_000_000_000_000,
  resourceVersion: "12345678901234567890",
  uid: "u",
  generation: 3,
  readers: ["team-a"],
  document: { flags: { __proto__x: { state: "ENABLED" }, "10": {}, "9": {} }, metadata: { a: 1 } },
};
const trial = { document: { flags: { f: { state: "DISABLED" } } }, digest: "ab", generation: 4, reach: 100 };
const signed = (body: Buffer): EncodedRecord => ({ body, signature: Buffer.alloc(0) });
const bodyOf = (head: unknown, rest: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from(`${typeof head === "string" ? head : JSON.stringify(head)}\n`), rest]);
const head = { format: 1, topic: "demo/flags", kind: "document", epoch: 1, resourceVersion: "1" };

describe("RecordCodec", () => {
  const files = new TempDirectory();
  after(() => files.remove());
  const codec = new RecordCodec(10_000, () => RecordKeys.none, unlimitedRoom);

  it("refuses to write a newer document that is too large", async () => {
    const document = { flags: { f: { state: "x".repeat(10_000) } } };
    expect(await codeOf(codec.encode({ ...record, trial: { ...trial, document } }))).to.equal(
      "RECORD_TOO_LARGE",
    );
  });

  async function codeOf(promise: Promise<unknown>): Promise<string> {
    return promise.then(
      () => "nothing failed",
      (error: unknown) => (error as BackplaneError).code,
    );
  }

  async function keys(...lines: readonly string[]): Promise<RecordKeys> {
    writeFileSync(files.file("keys"), lines.join("\n"));
    return RecordKeys.read(files.file("keys"));
  }

  const kinds: readonly TopicRecord[] = [
    record,
    { ...record, trial },
    { ...record, provider: { type: "http", uri: "https://flags.test" } },
    { topic: "demo/flags", kind: "deleted", epoch: 2, resourceVersion: "0" },
    { topic: "demo/flags", kind: "missing", epoch: 2, resourceVersion: "7" },
  ];
  const past = (flags: readonly string[]): PastVersion => ({
    digest: "ab".repeat(32),
    flags,
    metadata: true,
    evaluators: false,
  });

  it("reads the history that it wrote, within the bounds of one", async () => {
    const history = Array.from({ length: historyLength + 1 }, (_, index) => past([`flag-${index}`]));
    const read = await codec.decode("demo/flags", await codec.encode({ ...record, history }));
    expect(read).to.deep.equal({ ...record, history: history.slice(1) });
    const none = { ...record, history: [] };
    expect(await codec.decode("demo/flags", await codec.encode(none))).to.deep.equal(none);
  });

  it("leaves out a history that is none, and reads the record", async () => {
    const { body } = await codec.encode({ ...record, history: [past(["f"])] });
    const end = body.indexOf("\n");
    const written = JSON.parse(body.subarray(0, end).toString()) as Record<string, unknown>;
    for (const history of [null, 5, {}, [["x", [], 0]], [["A".repeat(43), [{}], 0]]]) {
      const changed = bodyOf({ ...written, history }, body.subarray(end + 1));
      expect(await codec.decode("demo/flags", signed(changed))).to.deep.equal(record);
    }
    const deletion = { ...head, kind: "deleted", history: written["history"] };
    expect(await codec.decode("demo/flags", signed(bodyOf(deletion)))).not.to.have.property("history");
  });

  it("leaves out a history for which there is no room in memory, or in the record", async () => {
    const slicing = new RecordCodec(10_000, () => RecordKeys.none, {
      freeBytes: 60_000,
      has: (bytes) => bytes <= 60_000,
    });
    const large = { ...record, history: [past(["x".repeat(50_000)])] };
    expect(await codec.decode("demo/flags", await codec.encode(large))).to.deep.equal(large);
    expect(await slicing.decode("demo/flags", await codec.encode(large))).to.deep.equal(record);
    const shared = { ...record, readers: Array.from({ length: 4_000 }, () => "x".repeat(50)) };
    const read = await codec.decode("demo/flags", await codec.encode({ ...shared, history: large.history }));
    expect(read).to.deep.equal(shared);
  });

  it("refuses a history that was not signed", async () => {
    const secret = await keys("k".repeat(32));
    const signing = new RecordCodec(10_000, () => secret, unlimitedRoom);
    const { body, signature } = await signing.encode({ ...record, history: [past(["f"])] });
    const forged = Buffer.from(body.toString("latin1").replace('["f"]', '["g"]'), "latin1");
    expect(forged.equals(body)).to.equal(false);
    const decoded = signing.decode("demo/flags", { body: forged, signature });
    expect(await codeOf(decoded)).to.equal("RECORD_UNVERIFIED");
  });

  for (const one of kinds) {
    const has =
      one.document === undefined
        ? "without a document"
        : "trial" in one
          ? "with two documents"
          : "with a document";
    it(`reads what it wrote (${one.kind}, ${has})`, async () => {
      expect(await codec.decode("demo/flags", await codec.encode(one))).to.deep.equal(one);
    });
  }

  it("writes equal bytes for equal documents, whatever the order of their keys", async () => {
    const other = {
      ...record,
      document: { metadata: { a: 1 }, flags: { "9": {}, "10": {}, __proto__x: { state: "ENABLED" } } },
    };
    expect((await codec.encode(other)).body).to.deep.equal((await codec.encode(record)).body);
  });

  it("refuses to write a document that is too large, or a version without order", async () => {
    const large = { ...record, document: { flags: { f: { state: "x".repeat(10_000) } } } };
    expect(await codeOf(codec.encode(large))).to.equal("RECORD_TOO_LARGE");
    expect(await codeOf(codec.encode({ ...record, resourceVersion: "abc" }))).to.equal("RECORD_MALFORMED");
    const shared = {
      ...record,
      readers: Array.from({ length: 10_000 }, (_, index) => `a-long-name-of-a-namespace-${index}`),
    };
    expect(await codeOf(codec.encode(shared))).to.equal("RECORD_TOO_LARGE");
  });

  it("refuses to write a head that it could not read, whose characters take more than a byte", async () => {
    const provider = { type: "http", uri: `https://flags.test/${"\u65d7".repeat(100_000)}` };
    expect(await codeOf(codec.encode({ ...record, provider }))).to.equal("RECORD_TOO_LARGE");
  });

  it("verifies with every key, and signs with the first", async () => {
    const [a, b] = ["a".repeat(32), "b".repeat(32)];
    const [onlyA, onlyB, both] = [await keys(a, ""), await keys(b), await keys(b, a)];
    const byA = await new RecordCodec(10_000, () => onlyA, unlimitedRoom).encode(record);
    const byBoth = await new RecordCodec(10_000, () => both, unlimitedRoom).encode(record);
    const readBy = (using: RecordKeys, encoded: EncodedRecord): Promise<string> =>
      codeOf(new RecordCodec(10_000, () => using, unlimitedRoom).decode("demo/flags", encoded));
    expect(await readBy(both, byA)).to.equal("nothing failed");
    expect(await readBy(onlyB, byBoth)).to.equal("nothing failed");
    expect(await readBy(onlyA, byBoth)).to.equal("RECORD_UNVERIFIED");
    expect(await readBy(onlyB, byA)).to.equal("RECORD_UNVERIFIED");
    expect(await readBy(onlyB, await codec.encode(record))).to.equal("RECORD_UNVERIFIED");
    const changed = Buffer.from(byA.body);
    changed.writeUInt8(changed.readUInt8(20) ^ 1, 20);
    expect(await readBy(onlyA, { ...byA, body: changed })).to.equal("RECORD_UNVERIFIED");
  });

  it("refuses a record under the name of another topic, signed or not", async () => {
    expect(await codeOf(codec.decode("demo/other", await codec.encode(record)))).to.equal("RECORD_FOREIGN");
    const key = await keys("k".repeat(40));
    const signing = new RecordCodec(10_000, () => key, unlimitedRoom);
    expect(await codeOf(signing.decode("demo/other", await signing.encode(record)))).to.equal(
      "RECORD_UNVERIFIED",
    );
  });

  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const malformed: readonly (readonly [string, Buffer])[] = [
    ["without a head", Buffer.from("no line feed")],
    ["with nothing at all", Buffer.alloc(0)],
    ["with a head that is no JSON", bodyOf("{")],
    ["with a head that is null", bodyOf("null")],
    ["of a later format", bodyOf({ ...head, format: 2 })],
    [
      "with a trial that is none",
      bodyOf({ ...head, bytes: 12, trial: { digest: "ab" } }, gzipSync('{"flags":{}}')),
    ],
    [
      "with a trial whose document is none",
      bodyOf(
        {
          ...head,
          bytes: 12,
          trial: { digest: "ab", reach: 1, bytes: 2, packed: gzipSync("[]").toString("base64") },
        },
        gzipSync('{"flags":{}}'),
      ),
    ],
    ["of an unknown kind", bodyOf({ ...head, kind: "other" })],
    ["without a document", bodyOf(head)],
    ["that is missing and has a document", bodyOf({ ...head, kind: "missing", bytes: 2 }, gzipSync("{}"))],
    ["with a version that is no number", bodyOf({ ...head, resourceVersion: "1; DROP" })],
    ["with an epoch that is no integer", bodyOf({ ...head, epoch: 0.5 })],
    ["with a provider that is no object", bodyOf({ ...head, provider: ["x"] })],
    ["with readers that are no list of names", bodyOf({ ...head, readers: [1] })],
    ["with a document that is not compressed", bodyOf({ ...head, bytes: 12 }, Buffer.from('{"flags":{}}'))],
    ["that unpacks to more than it says", bodyOf({ ...head, bytes: 100 }, bomb)],
    ["that unpacks to less than it says", bodyOf({ ...head, bytes: 100 }, gzipSync('{"flags":{}}'))],
    ["with a document cut off", bodyOf({ ...head, bytes: 12 }, gzipSync('{"flags":{}}').subarray(0, 15))],
    ["with a document that is no JSON", bodyOf({ ...head, bytes: 3 }, gzipSync("{{{"))],
    ["with a document without flags", bodyOf({ ...head, bytes: 2 }, gzipSync("[]"))],
    [
      "nested too deep",
      bodyOf({ ...head, bytes: 5_000 }, gzipSync(`{"flags":${"[".repeat(2_495)}${"]".repeat(2_496)}`)),
    ],
  ];
  for (const [what, body] of malformed) {
    it(`refuses a record ${what}`, async () => {
      expect(await codeOf(codec.decode("demo/flags", signed(body)))).to.equal("RECORD_MALFORMED");
    });
  }

  it("refuses what is, or says it is, too large, before it takes memory", async () => {
    const saying = bodyOf({ ...head, bytes: 20_000 }, bomb);
    expect(await codeOf(codec.decode("demo/flags", signed(saying)))).to.equal("RECORD_TOO_LARGE");
    const being = bodyOf({ ...head, bytes: 2 }, Buffer.alloc(codec.maxBodyBytes));
    expect(await codeOf(codec.decode("demo/flags", signed(being)))).to.equal("RECORD_TOO_LARGE");
  });

  it("weighs a document before it is parsed, refuses it while the heap has no room, and says how much it needs", async () => {
    let freeBytes = 1_000;
    const room = { has: (bytes: number) => bytes <= freeBytes, freeBytes: 1_000 };
    const weighing = new RecordCodec(1_000_000, () => RecordKeys.none, room);
    const text = `{"flags":{"f":{"variants":{"a":[${"{},".repeat(100_000)}{}]}}}}`;
    const encoded = signed(bodyOf({ ...head, bytes: text.length }, gzipSync(text)));
    const error = (await weighing
      .decode("demo/flags", encoded)
      .catch((caught: unknown) => caught)) as BackplaneError;
    expect(error).to.have.property("code", "RECORD_NO_ROOM");
    expect(error.message).to.contain("the 0.3 MB of its document need").and.contain("MB of heap");
    expect(error.neededBytes).to.be.greaterThan(100_000 * 48);
    freeBytes = error.neededBytes ?? 0;
    expect(await codeOf(weighing.decode("demo/flags", encoded))).to.equal("nothing failed");
  });

  const keyFiles: readonly (readonly [string, readonly string[], string])[] = [
    ["empty", [""], "write one a line"],
    ["with a short key", ["a".repeat(40), "short"], "can be guessed"],
    ["with many keys", Array.from({ length: 9 }, () => "a".repeat(32)), "8 are the most"],
  ];
  for (const [what, lines, reason] of keyFiles) {
    it(`refuses a file of keys that is ${what}, and says why`, async () => {
      const error = await keys(...lines).catch((caught: unknown) => caught as BackplaneError);
      expect(error).to.have.property("code", "FILE_UNREADABLE");
      expect(error).to.have.property("message").that.contains(reason).and.contains(files.file("keys"));
    });
  }
});

import { historyLength, maxHistoryBytes, maxHistoryKeys } from "@bunting/protocol";
import { expect } from "chai";
import { writeResponse, type Response } from "./bunting-messages.fixture.js";
import { decodeSyncResponse } from "./decode-sync-response.js";

type History = NonNullable<Response["history"]>;
type PastVersion = History["versions"][number];

const past = (fields: Partial<PastVersion> = {}): PastVersion => ({
  digest: Buffer.alloc(32, 7),
  flags: [],
  metadata: false,
  evaluators: false,
  ...fields,
});
const encode = (fields: Partial<History>): Buffer =>
  writeResponse({ history: { topic: "a/b", digest: Buffer.alloc(32, 1), versions: [past()], ...fields } });
const kindOf = (fields: Partial<History>): string => decodeSyncResponse(encode(fields)).kind;

describe("a history", () => {
  it("is read as it was written, and outlives the message", () => {
    const versions = [past({ flags: ["é", ""], metadata: true }), past({ evaluators: true })];
    const message = encode({ versions });
    const response = decodeSyncResponse(message);
    message.fill(0);
    expect(response).to.deep.equal({
      kind: "history",
      topic: "a/b",
      digest: Buffer.alloc(32, 1),
      versions: versions.map((version) => ({ ...version, digest: version.digest.toString("hex") })),
    });
  });

  it("is ignored beyond any of its bounds", () => {
    const key = (length: number): PastVersion[] => [past({ flags: ["x".repeat(length)] })];
    expect(kindOf({ versions: key(maxHistoryBytes - 100) })).to.equal("history");
    expect(kindOf({ versions: key(maxHistoryBytes + 4_000) })).to.equal("unknown");
    const versions = (count: number): PastVersion[] => Array.from({ length: count }, () => past());
    expect(kindOf({ versions: versions(historyLength) })).to.equal("history");
    expect(kindOf({ versions: versions(historyLength + 1) })).to.equal("unknown");
    const keys = (count: number): PastVersion[] => [
      past({ flags: Array.from({ length: count }, () => "") }),
      past({ flags: ["last"] }),
    ];
    expect(kindOf({ versions: keys(maxHistoryKeys - 1) })).to.equal("history");
    expect(kindOf({ versions: keys(maxHistoryKeys) })).to.equal("unknown");
  });

  it("is ignored if it names a version by something that is no digest", () => {
    for (const length of [0, 31, 33]) {
      expect(kindOf({ digest: Buffer.alloc(length) })).to.equal("unknown");
      expect(kindOf({ versions: [past({ digest: Buffer.alloc(length) })] })).to.equal("unknown");
    }
  });

  it("is ignored if it is as large as a message may be, without a look at its millions of fields", () => {
    const cutOff = Buffer.from([0x1a, 1]);
    const versions = Buffer.concat([Buffer.alloc(14_999_998, Buffer.from([0x1a, 0])), cutOff]);
    const head = Buffer.from([0x52, 0xc0, 0xc3, 0x93, 0x07]);
    expect(decodeSyncResponse(Buffer.concat([head, versions])).kind).to.equal("unknown");
  });
});

import { normaliseDocument, type JsonValue, type PastVersion } from "@bunting/protocol";
import { expect } from "chai";
import { decodeCopy, encodeCopy } from "./copied-document.js";

const document = {
  flags: { f: { state: "ENABLED" }, history: {} },
  metadata: { m: 1 },
  $evaluators: { e: {} },
};
const history: readonly PastVersion[] = [
  { digest: "ab".repeat(32), flags: ["f"], metadata: true, evaluators: false },
];

describe("a document in a copy", () => {
  it("is read as it was written, with its history if it has one", () => {
    expect(decodeCopy(encodeCopy({ document, history }))).to.deep.equal({ document, history });
    const provider = { type: "http", uri: "https://flags.test" };
    const copied = { document, history, provider };
    expect(decodeCopy(encodeCopy(copied))).to.deep.equal(copied);
    expect(decodeCopy(encodeCopy({ document, history: undefined }))).to.deep.equal({
      document,
      history: undefined,
    });
  });

  it("is read by earlier releases, which know no history, and without one where they wrote it", () => {
    const value = JSON.parse(encodeCopy({ document, history }).toString()) as JsonValue;
    expect(normaliseDocument(value).document).to.deep.equal(document);
    const theirs = Buffer.from(JSON.stringify(document));
    expect(decodeCopy(theirs)).to.deep.equal({ document, history: undefined });
  });

  it("is read without a history that is none", () => {
    for (const wrong of [null, {}, [["x", [], 0]]]) {
      const bytes = Buffer.from(JSON.stringify({ ...document, history: wrong }));
      expect(decodeCopy(bytes)).to.deep.equal({ document, history: undefined });
    }
    expect(() => decodeCopy(Buffer.from("[]"))).to.throw("flag document");
  });
});

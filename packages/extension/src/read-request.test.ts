import { expect } from "chai";
import { extensionRequest } from "./extension-request.fixture.js";
import { readRequest } from "./read-request.js";

const sent = { ...extensionRequest(), configuration: { scrape: true } };

describe("readRequest", () => {
  it("reads what an operator sends", () => {
    expect(readRequest(JSON.stringify(sent))).to.deep.equal({ kind: "request", request: sent });
    const without = extensionRequest();
    expect(readRequest(JSON.stringify(without))).to.deep.equal({ kind: "request", request: without });
  });

  it("leaves out fields of a later version, and labels that are no texts", () => {
    const later = {
      ...sent,
      later: true,
      namespace: { ...sent.namespace, annotations: { a: 1, b: "2" }, uid: "x" },
    };
    const read = readRequest(JSON.stringify(later));
    const namespace = { ...sent.namespace, annotations: { b: "2" } };
    expect(read).to.deep.equal({ kind: "request", request: { ...sent, namespace } });
  });

  it("says of hooks, targets and operations of a later version that it does not know them", () => {
    for (const field of ["hook", "target", "operation"])
      expect(readRequest(JSON.stringify({ ...sent, [field]: "later" }))).to.deep.equal({
        kind: "unknown",
        problem: `the ${field} "later" is not known here`,
      });
  });

  it("says what is wrong with a body that no operator sends", () => {
    const wrong: Readonly<Record<string, unknown>> = {
      "the body is no object of JSON": [],
      "uid, hook, target and operation are texts": { ...sent, hook: "" },
      "dryRun is neither true nor false": { ...sent, dryRun: "false" },
      "namespace has no name": { ...sent, namespace: {} },
      "object has no apiVersion, kind or metadata.name": { ...sent, object: { kind: "Pod" } },
    };
    for (const [problem, body] of Object.entries(wrong))
      expect(readRequest(JSON.stringify(body))).to.deep.equal({
        kind: "invalid",
        problem: `no request of an operator: ${problem}`,
      });
    for (const field of ["uid", "hook", "target", "operation"])
      expect(readRequest(JSON.stringify({ ...sent, [field]: 1 })).kind, field).to.equal("invalid");
    expect(readRequest("{").kind).to.equal("invalid");
  });
});

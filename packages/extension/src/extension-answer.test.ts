import { expect } from "chai";
import {
  maxExtensionFindings,
  maxReasonLength,
  readAnswer,
  type ExtensionAnswer,
} from "./extension-answer.js";

const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "flagd-proxy" }, spec: {} };

function answer(status: number, body = "", contentType = "application/json"): ExtensionAnswer {
  return readAnswer("pre-create", { status, contentType, body });
}

function lint(body: unknown): ExtensionAnswer {
  return readAnswer("lint", { status: 200, contentType: "application/json", body: JSON.stringify(body) });
}

describe("readAnswer", () => {
  it("takes the object of a 200", () => {
    expect(answer(200, JSON.stringify(object))).to.deep.equal({ kind: "replaced", object });
  });

  it("takes an object for a failure whose fields could not be named, because their paths would take gigabytes", () => {
    const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`a${at}`, 1]));
    const spec = { ["x".repeat(400_000)]: fields };
    expect(answer(200, JSON.stringify({ ...object, spec }))).to.deep.equal({
      kind: "failed",
      reason: "it answered 200 with an object that has too many fields with too long names",
    });
    expect(answer(200, JSON.stringify({ ...object, spec: fields })).kind).to.equal("replaced");
  });

  it("takes 204, 304 and 404 for no change, for both hooks", () => {
    for (const status of [204, 304, 404]) {
      expect(answer(status, "not found", "text/plain"), String(status)).to.deep.equal({ kind: "unchanged" });
      const asked = readAnswer("lint", { status, contentType: "", body: "" });
      expect(asked, String(status)).to.deep.equal({ kind: "unchanged" });
    }
  });

  it("takes other answers from 400 to 499 for a refusal, with the reason as text or as message", () => {
    const reason = "the team has no budget left";
    expect(answer(403, reason, "text/plain; charset=utf-8")).to.deep.equal({ kind: "refused", reason });
    expect(answer(422, JSON.stringify({ message: reason }))).to.deep.equal({ kind: "refused", reason });
    expect(answer(409, JSON.stringify(reason), "application/problem+json")).to.deep.equal({
      kind: "refused",
      reason,
    });
  });

  it("says of a refusal without a reason, and of one with a page, what was answered", () => {
    for (const [body, type] of [
      ["", ""],
      ["<h1>Forbidden</h1>", "text/html"],
      ["{", "application/json"],
    ] as const)
      expect(answer(403, body, type)).to.deep.equal({
        kind: "refused",
        reason: "it answered 403, without a reason",
      });
  });

  it("takes answers about the call for a failure, as well as those of 500 and more, and redirects", () => {
    for (const status of [
      401, 405, 407, 408, 411, 413, 415, 421, 425, 426, 429, 431, 500, 503, 201, 301, 307,
    ])
      expect(answer(status, "so it is", "text/plain"), String(status)).to.deep.equal({
        kind: "failed",
        reason: `it answered ${status}: so it is`,
      });
  });

  it("takes a 200 without an object for a failure", () => {
    for (const body of ["", "{", "null", "[]", "{}", '{"apiVersion":"v1","kind":"Pod","metadata":{}}'])
      expect(answer(200, body).kind, body).to.equal("failed");
  });

  it("takes a 200 with labels or annotations that are no texts for a failure", () => {
    for (const field of ["labels", "annotations"])
      for (const texts of [null, [], "x", { a: 1 }, { a: null }]) {
        const wrong = { ...object, metadata: { ...object.metadata, [field]: texts } };
        expect(answer(200, JSON.stringify(wrong)), JSON.stringify(texts)).to.deep.equal({
          kind: "failed",
          reason: `it answered 200 with an object whose ${field} are no texts`,
        });
      }
  });

  it("makes one short line of a reason", () => {
    const refused = answer(403, "\u001b[31mno\r\n\u202eway\u2028 out\u0000", "text/plain");
    expect(refused).to.deep.equal({ kind: "refused", reason: "[31mno way out" });
    const long = answer(403, "x".repeat(100_000), "text/plain");
    expect(long).to.have.property("reason").that.has.length(maxReasonLength);
    const cut = answer(403, `${"x".repeat(maxReasonLength - 2)}😀😀\ud83d`, "text/plain");
    expect(cut).to.deep.equal({ kind: "refused", reason: `${"x".repeat(maxReasonLength - 2)}😀😀` });
  });

  it("takes the findings of a lint hook, with a place where there is one", () => {
    const findings = [
      { severity: "error", message: "it has no owner", field: "/spec/flagSpec/flags/banner" },
      { severity: "warning", message: "it is old" },
    ];
    expect(lint({ findings })).to.deep.equal({ kind: "commented", findings });
    expect(lint({ findings: [{ ...findings[1], field: "spec.flagSpec" }] })).to.deep.equal({
      kind: "commented",
      findings: [findings[1]],
    });
  });

  it("takes a list without findings for no comment", () => {
    expect(lint({ findings: [] })).to.deep.equal({ kind: "unchanged" });
  });

  it("takes no more findings than people read", () => {
    const findings = Array.from({ length: maxExtensionFindings + 1 }, () => ({
      severity: "error",
      message: "no",
    }));
    const read = lint({ findings });
    expect(read.kind === "commented" && read.findings).to.have.length(maxExtensionFindings);
  });

  it("takes errors, which refuse a FeatureFlag, before warnings where there are more findings than people read", () => {
    const warnings = Array.from({ length: maxExtensionFindings }, () => ({
      severity: "warning",
      message: "it is old",
    }));
    const read = lint({ findings: [...warnings, { severity: "error", message: "it has no owner" }] });
    if (read.kind !== "commented") throw new Error(read.kind);
    expect(read.findings).to.have.length(maxExtensionFindings);
    expect(read.findings[0]).to.deep.equal({ severity: "error", message: "it has no owner" });
    const few = [...warnings.slice(0, 2), { severity: "error", message: "no" }];
    expect(lint({ findings: few }), "in their order otherwise").to.deep.equal({
      kind: "commented",
      findings: few,
    });
  });

  it("takes what is no list of findings for a failure", () => {
    for (const body of [
      null,
      {},
      [],
      { findings: {} },
      { findings: [null] },
      { findings: [{ severity: "fatal", message: "no" }] },
      { findings: [{ severity: "error" }] },
      { findings: [{ severity: "error", message: " " }] },
    ])
      expect(lint(body).kind, JSON.stringify(body)).to.equal("failed");
  });
});

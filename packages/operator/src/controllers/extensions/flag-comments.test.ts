import { maxExtensionFindings, type ExtensionFinding, type ExtensionObject } from "@bunting/extension";
import type { JsonObject } from "@bunting/protocol";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { AdmissionRequest } from "../../admission/admission-review.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { FlagComments } from "../../extensions/lint-flags.js";
import { flagComments } from "./flag-comments.js";

function flag(metadata: object = {}): JsonObject {
  return {
    ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag", status: { flags: 1 } },
    metadata: { name: "a", managedFields: [], ...metadata },
  };
}

describe("flagComments", () => {
  const clock = new ManualClock();
  let asked: ExtensionObject[];
  let findings: (object: ExtensionObject) => readonly ExtensionFinding[] | "fails";
  let isRead: boolean;
  beforeEach(() => {
    asked = [];
    isRead = true;
    findings = () => [{ severity: "error", message: "no owner" }];
  });

  const comments = (changes: Partial<AdmissionRequest>): Promise<FlagComments> => {
    const ask = flagComments({
      extensions: {
        hasSynced: isRead,
        askedFor: () => [storedExtension("owner")],
        namespace: (name) => ({ name, labels: {}, annotations: {} }),
      },
      peers: {
        ask: (_extension, { object }) => {
          asked.push(object);
          const found = findings(object);
          return Promise.resolve(
            found === "fails" ? { kind: "failed", reason: "late" } : { kind: "commented", findings: found },
          );
        },
      },
      clock,
    });
    const kind = { group: "core.openfeature.dev", version: "v1beta1", kind: "FeatureFlag" };
    const request: AdmissionRequest = {
      ...{ uid: "1", kind, operation: "CREATE", namespace: "shop", subResource: "", dryRun: false },
      ...{ object: flag(), oldObject: undefined },
      ...changes,
    };
    return ask(request, clock.monotonicMs() + 1_000);
  };
  const severities = async (changes: Partial<AdmissionRequest>): Promise<readonly string[]> =>
    (await comments(changes)).findings.map(({ severity }) => severity);

  it("sends neither status nor managed fields", async () => {
    await comments({});
    expect(asked).to.deep.equal([
      { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag", metadata: { name: "a" } },
    ]);
  });

  it("has an update that adds no error admitted with a warning", async () => {
    const update = { operation: "UPDATE", oldObject: flag() };
    expect(await severities(update)).to.deep.equal(["warning"]);
    findings = ({ metadata }) =>
      metadata["labels"] === undefined ? [] : [{ severity: "error", message: "a label" }];
    expect(await severities({ ...update, object: flag({ labels: {} }) })).to.deep.equal(["error"]);
  });

  it("refuses no update if it can't be seen what was said of the object before", async () => {
    findings = ({ metadata }) =>
      metadata["labels"] === undefined ? "fails" : [{ severity: "error", message: "a label" }];
    const update = { operation: "UPDATE", oldObject: flag(), object: flag({ labels: {} }) };
    expect(await severities(update)).to.deep.equal(["warning"]);
  });

  it("refuses no update that mends one of more flags than are read of an answer", async () => {
    // Of 150 flags without an owner, the first one gets one.
    findings = ({ metadata }) =>
      Array.from({ length: maxExtensionFindings }, (_, index) => ({
        severity: "error",
        message: `flag ${metadata["labels"] === undefined ? index : index + 1}: no owner`,
      }));
    const update = { operation: "UPDATE", oldObject: flag(), object: flag({ labels: {} }) };
    expect(new Set(await severities(update))).to.deep.equal(new Set(["warning"]));
  });

  it("refuses an update for an error that it adds to many warnings, since errors are read before these", async () => {
    const warnings = Array.from({ length: maxExtensionFindings }, (_, index) => ({
      severity: "warning" as const,
      message: `flag ${index}: no description`,
    }));
    findings = ({ metadata }) =>
      metadata["labels"] === undefined
        ? warnings
        : [{ severity: "error", message: "no owner" }, ...warnings.slice(1)];
    const update = { operation: "UPDATE", oldObject: flag(), object: flag({ labels: {} }) };
    expect((await severities(update)).filter((severity) => severity === "error")).to.have.length(1);
  });

  it("asks nobody before the Extensions are read, or of what is no object", async () => {
    isRead = false;
    expect(await severities({})).to.deep.equal([]);
    isRead = true;
    expect(await severities({ object: { metadata: null } })).to.deep.equal([]);
    expect(asked).to.deep.equal([]);
  });
});

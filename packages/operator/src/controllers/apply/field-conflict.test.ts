import { KubeError } from "@bunting/kube";
import { expect } from "chai";
import { fieldConflicts } from "./field-conflict.js";

describe("fieldConflicts", () => {
  const conflictsOf = (message: string, reason = "FieldManagerConflict") =>
    fieldConflicts(
      new KubeError("CONFLICT", "conflict", { causes: [{ reason, message, field: ".spec.replicas" }] }),
    );

  for (const [message, manager, operation] of [
    ['conflict with "argocd-controller"', "argocd-controller", "Apply"],
    ['conflict with "a \\" using b"', 'a " using b', "Apply"],
    ['conflict with "kubectl-edit" using apps/v1 at 2026-11-26T10:53:03Z', "kubectl-edit", "Update"],
    ['conflict with "manager" using apps/v1', "manager", "Update"],
    [
      'conflict with "kube-controller-manager" with subresource "scale" using apps/v1 at 2026-11-26T10:53:03Z',
      "kube-controller-manager",
      "Update",
    ],
    ["a sentence of a later version", "a sentence of a later version", "Apply"],
  ] as const) {
    it(`reads ${message}`, () => {
      expect(conflictsOf(message)).to.deep.equal([{ field: ".spec.replicas", manager, operation }]);
    });
  }

  it("finds none in other refusals", () => {
    expect(conflictsOf('conflict with "a"', "FieldValueInvalid")).to.deep.equal([]);
    expect(fieldConflicts(new KubeError("CONFLICT", "the object has been modified"))).to.deep.equal([]);
    const causes = [{ reason: "FieldManagerConflict", message: "", field: ".spec" }];
    expect(fieldConflicts(new KubeError("INVALID", "no", { causes }))).to.deep.equal([]);
  });
});

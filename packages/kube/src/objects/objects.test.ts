import { expect } from "chai";
import type { KubeObject } from "../rest/resource.js";
import { setCondition, type Condition } from "./conditions.js";
import { releaseFields, takeOverFields, type ManagedFieldsEntry } from "./managed-fields.js";
import { controllerOf, type OwnerReference } from "./owner-reference.js";

describe("setCondition", () => {
  const atMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const ready = {
    type: "Ready",
    status: "True",
    reason: "Available",
    message: "It works.",
    observedGeneration: 1,
  } as const;
  const stored: Condition = { ...ready, lastTransitionTime: "2026-01-02T03:04:05Z" };
  const other: Condition = { ...stored, type: "Accepted" };

  it("adds a condition, with the time of now", () => {
    expect(setCondition([other], ready, atMs)).to.deep.equal([other, stored]);
  });

  it("keeps the time while the status stays, whatever else changes", () => {
    const next = setCondition(
      [stored, other],
      { ...ready, message: "It still works.", observedGeneration: 2 },
      atMs + 60_000,
    );
    expect(next).to.deep.equal([{ ...stored, message: "It still works.", observedGeneration: 2 }, other]);
  });

  it("sets the time anew when the status changes", () => {
    const [next] = setCondition([stored], { ...ready, status: "False" }, atMs + 60_000);
    expect(next).to.deep.equal({ ...stored, status: "False", lastTransitionTime: "2026-01-02T03:05:05Z" });
  });

  it("returns the same conditions if nothing has changed, so that nothing is written", () => {
    const conditions = [other, stored];
    expect(setCondition(conditions, ready, atMs + 60_000)).to.equal(conditions);
    for (const change of [{ reason: "X" }, { message: "X" }, { observedGeneration: 9 }]) {
      expect(setCondition(conditions, { ...ready, ...change }, atMs)).to.not.equal(conditions);
    }
  });
});

describe("owner references", () => {
  it("name the owner that manages the object", () => {
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "op", uid: "u1" };
    const reference: OwnerReference = { ...owner, controller: true };
    const another = { ...reference, name: "x", controller: false };
    const owned: KubeObject = { metadata: { name: "a", ownerReferences: [another, reference] } };
    expect(controllerOf(owned)).to.equal(reference);
    expect(controllerOf({ metadata: { name: "a", ownerReferences: [another] } })).to.equal(undefined);
    expect(controllerOf({ metadata: { name: "a" } })).to.equal(undefined);
  });
});

describe("releaseFields", () => {
  const released = (...managedFields: readonly ManagedFieldsEntry[]): unknown =>
    releaseFields({ metadata: { name: "a", resourceVersion: "7", managedFields } }, "bunting-operator");
  const ours = { manager: "bunting-operator", operation: "Apply" } as const;
  const others = [
    { manager: "helm", operation: "Apply" },
    { manager: "bunting-operator", operation: "Update" },
  ] as const;

  it("leaves all other entries, at this version of the object", () => {
    expect(released(others[0], ours, others[1])).to.deep.equal([
      { op: "replace", path: "/metadata/managedFields", value: others },
      { op: "replace", path: "/metadata/resourceVersion", value: "7" },
    ]);
  });

  it("is nothing where there is no entry of ours, or no other", () => {
    expect(released(...others)).to.equal(undefined);
    expect(released(ours)).to.equal(undefined);
    expect(releaseFields({ metadata: { name: "a" } }, "bunting-operator")).to.equal(undefined);
  });
});

describe("takeOverFields", () => {
  const stock: ManagedFieldsEntry = {
    ...{ manager: "manager", operation: "Update", apiVersion: "apps/v1", fieldsType: "FieldsV1" },
    fieldsV1: { "f:spec": { "f:replicas": {}, "f:template": { ".": {}, "f:labels": {} } } },
  };
  const ours: ManagedFieldsEntry = {
    ...{ manager: "bunting-operator", operation: "Apply", apiVersion: "apps/v1", fieldsType: "FieldsV1" },
    fieldsV1: { "f:spec": { "f:template": { "f:image": {} } } },
  };
  const status: ManagedFieldsEntry = { ...stock, subresource: "status" };
  const hpa: ManagedFieldsEntry = { ...stock, manager: "hpa" };
  const isStock = ({ manager }: ManagedFieldsEntry): boolean => manager === "manager";

  function patchOf(...managedFields: readonly ManagedFieldsEntry[]): unknown {
    const object = { metadata: { name: "a", resourceVersion: "7", managedFields } };
    return takeOverFields(object, "bunting-operator", isStock);
  }

  it("makes the fields ours, together with those that are already, and leaves all others alone", () => {
    expect(patchOf(hpa, stock, ours, status)).to.deep.equal([
      {
        op: "replace",
        path: "/metadata/managedFields",
        value: [
          {
            ...ours,
            fieldsV1: {
              "f:spec": { "f:replicas": {}, "f:template": { ".": {}, "f:labels": {}, "f:image": {} } },
            },
          },
          hpa,
          status,
        ],
      },
      { op: "replace", path: "/metadata/resourceVersion", value: "7" },
    ]);
  });

  it("begins an entry of ours if there is none", () => {
    const [operation] = patchOf(stock) as [{ value: unknown }];
    expect(operation.value).to.deep.equal([{ ...stock, manager: "bunting-operator", operation: "Apply" }]);
  });

  it("has nothing to do where nothing of theirs is left", () => {
    expect(patchOf(ours, status, hpa)).to.equal(undefined);
    expect(takeOverFields({ metadata: { name: "a" } }, "bunting-operator", isStock)).to.equal(undefined);
    const all = takeOverFields(
      { metadata: { name: "a", managedFields: [ours] } },
      "bunting-operator",
      () => true,
    );
    expect(all).to.equal(undefined);
  });
});

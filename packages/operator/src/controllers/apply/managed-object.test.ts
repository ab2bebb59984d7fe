import { readFileSync } from "node:fs";
import path from "node:path";
import type { KubeObject, ManagedFieldsEntry } from "@bunting/kube";
import { expect } from "chai";
import { replicasAnnotation } from "../../api/names.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import { adoption, fieldManager, isOurs, scalerOf } from "./managed-object.js";

const recorded = path.join(
  import.meta.dirname,
  "../../../../../test/fixtures/stock-operator/proxy-objects-managed-fields.json",
);

function objectWith(metadata: object): KubeObject {
  return { metadata: { name: "flagd-proxy", resourceVersion: "7", ...metadata } };
}

const marked = { labels: { "app.kubernetes.io/managed-by": "open-feature-operator" } };
const applied = { managedFields: [{ manager: fieldManager, operation: "Apply" }] };
const ownedBy = (kind: string) => ({ ownerReferences: [{ apiVersion: "x/v1", kind, name: "a", uid: "b" }] });
const desired = { metadata: { name: "flagd-proxy", ...ownedBy("Deployment") } };

describe("isOurs", () => {
  for (const [what, metadata, expected] of [
    ["has the label of the open-feature-operator", marked, true],
    ["we have applied, though it has lost the label", applied, true],
    ["belongs to the operator", { ...marked, ...ownedBy("Deployment") }, true],
    ["belongs to another kind, and is marked", { ...marked, ...ownedBy("Flagd") }, false],
    ["belongs to another kind, and was applied by us", { ...applied, ...ownedBy("Flagd") }, false],
    ["has nothing of ours", { labels: { app: "flagd-proxy" } }, false],
    ["is managed by Helm", { labels: { "app.kubernetes.io/managed-by": "Helm" } }, false],
    ["has a field manager of our name that updates", updatedAs(fieldManager), false],
    [
      "has a field manager of our name for a subresource",
      { managedFields: [{ manager: fieldManager, operation: "Apply", subresource: "status" }] },
      false,
    ],
  ] as const) {
    it(`is ${expected} for an object that ${what}`, () => {
      expect(isOurs(objectWith(metadata), desired)).to.equal(expected);
    });
  }

  it("wants what is made for a Flagd to be that Flagd's, whatever label or manager it has", () => {
    const flagd = (name: string): object => ({
      ownerReferences: [{ apiVersion: "x/v1", kind: "Flagd", name, uid: `uid of ${name}` }],
    });
    const wanted = { metadata: { name: "shop", ...flagd("shop") } };
    for (const mark of [marked, applied]) {
      expect(isOurs(objectWith({ ...mark, ...flagd("shop") }), wanted)).to.equal(true);
      expect(isOurs(objectWith({ ...mark, ...flagd("other") }), wanted)).to.equal(false);
      expect(isOurs(objectWith(mark), wanted)).to.equal(false);
    }
  });

  it("finds what was made for a Flagd, and was restored from a backup without its owner, by two labels", () => {
    const ownerReferences = [{ kind: "Flagd", name: "shop" }];
    const wanted = { metadata: { name: "shop", ownerReferences } };
    const named = (name: string, more: object = {}): KubeObject =>
      objectWith({ labels: { ...marked.labels, "app.kubernetes.io/name": name, ...more } });
    expect(isOurs(named("shop"), wanted)).to.equal(true);
    expect(isOurs(named("other"), wanted)).to.equal(false);
    expect(isOurs(named("shop", { "app.kubernetes.io/managed-by": "Helm" }), wanted)).to.equal(false);
  });

  it("does not ask for an owner where we have none", () => {
    const ownerless = { metadata: { name: "flagd-proxy" } };
    expect(isOurs(objectWith({ ...marked, ...ownedBy("Deployment") }), ownerless)).to.equal(true);
  });
});

describe("adoption", () => {
  it("makes all fields ours that the open-feature-operator wrote, and no others", () => {
    const { items } = JSON.parse(readFileSync(recorded, "utf8")) as { items: readonly KubeObject[] };
    expect(items.map((object) => adoption(object)?.[0]?.value)).to.have.lengthOf(3);
    for (const object of items) {
      const { managedFields } = object.metadata as unknown as { managedFields: ManagedFieldsEntry[] };
      const [first, ...others] = managedFields;
      const [ours, ...rest] = adoption(object)?.[0]?.value as ManagedFieldsEntry[];
      expect(ours).to.deep.include({ manager: fieldManager, operation: "Apply", fieldsV1: first?.fieldsV1 });
      expect(rest).to.deep.equal(others);
    }
  });

  it("leaves what others wrote", () => {
    for (const managedFields of [
      [{ manager: "kubectl-edit", operation: "Update", fieldsV1: {} }],
      [{ manager: "manager", operation: "Apply", fieldsV1: {} }],
      [],
    ]) {
      expect(adoption(objectWith({ managedFields }))).to.equal(undefined);
    }
  });
});

describe("scalerOf", () => {
  const replicas = { "f:spec": { "f:replicas": {} } };
  const hpa = { manager: "kube-controller-manager", operation: "Update", subresource: "scale" } as const;
  const hand = { manager: "kubectl", operation: "Update", subresource: "scale" } as const;
  const edit = { manager: "kubectl-edit", operation: "Update" } as const;
  const argo = { manager: "argocd", operation: "Apply" } as const;
  const us = { manager: fieldManager, operation: "Apply" } as const;
  const scaled = (entry: object, annotations: Record<string, string> = {}): KubeObject =>
    objectWith({ annotations, managedFields: [{ ...entry, fieldsV1: replicas }] });
  const proxy = { metadata: { name: "x" } };
  const asking = (number: string): Pick<DesiredObject, "metadata"> => ({
    metadata: {
      name: "x",
      annotations: { [replicasAnnotation]: number },
      ownerReferences: [{ kind: "Flagd", name: "x" }],
    },
  });

  for (const [who, entry, ofProxy, ofFlagd] of [
    ["an HPA", hpa, hpa.manager, hpa.manager],
    ["kubectl scale", hand, hand.manager, undefined],
    ["an edit", edit, edit.manager, undefined],
    ["an apply of others", argo, argo.manager, undefined],
    ["our own apply", us, undefined, undefined],
    ["a nameless manager", { operation: "Update", subresource: "scale" }, "others", "others"],
  ] as const) {
    it(`is ${ofProxy ?? "nobody"} where ${who} set the replicas, and of a Flagd ${ofFlagd ?? "nobody"}`, () => {
      expect(scalerOf(scaled(entry), proxy)).to.equal(ofProxy);
      expect(scalerOf(scaled(entry), asking("2"))).to.equal(ofFlagd);
    });
  }

  it("is not who has made the whole object, as a restore of a backup does", () => {
    const fieldsV1 = { "f:spec": { "f:replicas": {}, "f:selector": {} } };
    const restored = (operation: string): KubeObject =>
      objectWith({ managedFields: [{ manager: "velero-server", operation, fieldsV1 }] });
    expect(scalerOf(restored("Update"), proxy)).to.equal(undefined);
    expect(scalerOf(restored("Apply"), proxy)).to.equal("velero-server");
  });

  it("is nobody once the Flagd asks for another number", () => {
    const live = scaled(hpa, { [replicasAnnotation]: "2" });
    expect(scalerOf(live, asking("2"))).to.equal(hpa.manager);
    expect(scalerOf(live, asking("3"))).to.equal(undefined);
  });

  it("is nobody where others own other fields only", () => {
    const fieldsV1 = { "f:spec": { "f:paused": {} }, "f:replicas": {} };
    const live = objectWith({ managedFields: [{ manager: "kubectl", fieldsV1 }] });
    expect(scalerOf(live, proxy)).to.equal(undefined);
    expect(scalerOf(objectWith({}), proxy)).to.equal(undefined);
  });
});

function updatedAs(manager: string): object {
  return { managedFields: [{ manager, operation: "Update" }] };
}

import { expect } from "chai";
import { extensionRequest, proxyDeployment, sidecarObject } from "../extension-request.fixture.js";
import type { ExtensionObject, ExtensionRequest } from "../extension-request.js";
import { annotater, type AnnotaterRule } from "./annotater.js";

const ingress: ExtensionObject = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "flags", labels: { zone: "public" }, annotations: { kept: "own" } },
};

async function annotated(
  rules: readonly AnnotaterRule[],
  changes: Partial<ExtensionRequest> = {},
): Promise<ExtensionObject | undefined> {
  return annotater(rules)(extensionRequest({ target: "Flagd", object: ingress, ...changes }));
}

async function annotations(
  rules: readonly AnnotaterRule[],
  changes: Partial<ExtensionRequest> = {},
): Promise<unknown> {
  return (await annotated(rules, changes))?.metadata["annotations"];
}

describe("annotater", () => {
  const texts = { kept: "default", added: "default" };

  it("adds annotations and labels that the object does not have", async () => {
    const object = await annotated([{ annotations: texts, labels: { zone: "private", tier: "edge" } }]);
    expect(object?.metadata).to.deep.equal({
      name: "flags",
      labels: { tier: "edge", zone: "public" },
      annotations: { added: "default", kept: "own" },
    });
  });

  it("overwrites where the rule says so", async () => {
    expect(await annotations([{ annotations: texts, overwrite: true }])).to.deep.equal(texts);
  });

  it("lets the first of several rules count", async () => {
    const first = { annotations: { added: "first" } };
    const second = { annotations: { added: "second" } };
    expect(await annotations([first, second])).to.include({ added: "first" });
    const overwriting = [first, second].map((rule) => ({ ...rule, overwrite: true }));
    expect(await annotations(overwriting)).to.include({ added: "first" });
    expect(await annotations([first, ...overwriting.slice(1)])).to.include({ added: "second" });
  });

  it("leaves objects alone that the rule does not select", async () => {
    const cases: readonly (readonly [Omit<AnnotaterRule, "annotations">, boolean])[] = [
      [{ targets: ["Proxy", "Flagd"] }, true],
      [{ targets: ["Proxy"] }, false],
      [{ kinds: ["Ingress"] }, true],
      [{ kinds: ["Service"] }, false],
      [{ namespaces: ["shop-dev"] }, true],
      [{ namespaces: ["*-pro", "*-dev"] }, true],
      [{ namespaces: ["shop*"] }, true],
      [{ namespaces: ["*"] }, true],
      [{ namespaces: ["*op-d*"] }, true],
      [{ namespaces: ["*-pro*"] }, false],
      [{ namespaces: ["*-pro"] }, false],
      [{ namespaces: ["dev*"] }, false],
      [{ namespaces: ["shop"] }, false],
      [{ namespaces: [] }, false],
      [{ namespaceLabels: { team: "shop" } }, true],
      [{ namespaceLabels: { team: "shop", tier: "1" } }, false],
      [{ namespaceLabels: { constructor: "x" } }, false],
      [{ objectLabels: { zone: "public" } }, true],
      [{ objectLabels: { zone: "private" } }, false],
      [{ kinds: ["Ingress"], objectLabels: { zone: "private" } }, false],
    ];
    for (const [rule, isSelected] of cases) {
      const found = await annotations([{ ...rule, annotations: texts }]);
      expect(found, JSON.stringify(rule)).to.have.property("kept", "own");
      expect(found, JSON.stringify(rule)).to.have.keys(isSelected ? ["kept", "added"] : ["kept"]);
    }
  });

  it("annotates Pods of a Deployment and Pods with a sidecar", async () => {
    const rule = { podAnnotations: texts, podLabels: { tier: "flags" } };
    const deployment = await annotated([rule], { object: proxyDeployment() });
    expect(deployment?.metadata).to.deep.equal(proxyDeployment().metadata);
    const metadata =
      '{"labels":{"tier":"flags","app":"flagd-proxy"},"annotations":{"kept":"default","added":"default","a":"1"}}';
    expect(JSON.stringify(deployment)).to.include(`"template":{"metadata":${metadata}`);
    const sidecar = await annotated([rule], { target: "Sidecar", object: sidecarObject() });
    expect(sidecar?.metadata["annotations"]).to.deep.equal({ ...texts, "example.com/a": "1" });
    expect(sidecar?.metadata).to.not.have.property("labels");
  });

  it("says which rule is wrong, and how", () => {
    const rules =
      (value: unknown): (() => unknown) =>
      () =>
        annotater(value as readonly AnnotaterRule[]);
    expect(rules({})).to.throw("rules are a list");
    const wrong: readonly (readonly [unknown, string])[] = [
      ["x", "it is no object"],
      [{ annotation: {} }, "annotation is none of targets, kinds"],
      [{ annotations: { a: 1 } }, "annotations is no object with texts"],
      [{ kinds: ["Ingress"] }, "it has none of annotations, labels"],
      [{ labels: {}, overwrite: "yes" }, "overwrite is neither"],
      [{ labels: {}, kinds: "Ingress" }, "kinds is no list"],
      [{ labels: {}, namespaces: [1] }, "namespaces is no list"],
      [{ labels: {}, namespaces: ["shop-*-dev"] }, "namespaces has shop-*-dev, with a star"],
      [{ labels: {}, objectLabels: [] }, "objectLabels is no object"],
      [{ labels: {}, targets: ["Ingress"] }, "targets names Ingress, which is none of Sidecar"],
    ];
    for (const [rule, problem] of wrong)
      expect(rules([{ annotations: {} }, rule]), JSON.stringify(rule)).to.throw(`rule 2: ${problem}`);
  });
});

import { expect } from "chai";
import { pathOfWebhook } from "../api/webhooks.js";
import { webhookConfigurations, type WebhookSettings } from "./webhook-configurations.js";

const settings: WebhookSettings = {
  namespace: "bunting",
  address: { service: { namespace: "bunting", name: "webhooks" } },
  validatesFlags: true,
};

interface Entry {
  readonly name: string;
  readonly failurePolicy: string;
  readonly timeoutSeconds: number;
  readonly sideEffects: string;
  readonly reinvocationPolicy?: string;
  readonly clientConfig: { readonly caBundle?: string; readonly url?: string; readonly service?: object };
  readonly namespaceSelector?: {
    readonly matchExpressions: readonly object[];
    readonly matchLabels?: object;
  };
  readonly objectSelector?: { readonly matchExpressions: readonly object[] };
  readonly rules: readonly object[];
  readonly matchConditions?: readonly { readonly expression: string }[];
}

function entriesOf(changes: Partial<WebhookSettings> = {}): Entry[] {
  return webhookConfigurations({ ...settings, ...changes }).flatMap((each) => each["webhooks"] as Entry[]);
}

/** What an API server makes of them is tried in test/cluster/operator-admission.test.ts. */
describe("webhookConfigurations", () => {
  it("are called as those of the open-feature-operator, so that they take their place", () => {
    const [mutating, validating] = webhookConfigurations(settings);
    expect(mutating?.metadata.name).to.equal("open-feature-operator-mutating-webhook-configuration");
    expect(validating?.metadata.name).to.equal("open-feature-operator-validating-webhook-configuration");
    expect(entriesOf().map(({ name }) => name)).to.include.members([
      "mutate.openfeature.dev",
      "vfeatureflag.kb.io",
    ]);
    expect(webhookConfigurations({ ...settings, validatesFlags: false })).to.deep.equal([mutating]);
  });

  it("see only the namespaces that are served, under names of the operator's own", () => {
    const serves = ["shop", "checkout"];
    const own = { ...settings, serves, takesInlineFlags: true };
    expect(webhookConfigurations(own).map(({ metadata }) => metadata.name)).to.deep.equal([
      "bunting-operator-bunting",
      "bunting-operator-bunting",
    ]);
    const served = { key: "kubernetes.io/metadata.name", operator: "In", values: serves };
    const entries = entriesOf(own);
    expect(entries).to.have.length(6);
    for (const { name, namespaceSelector } of entries)
      expect(namespaceSelector?.matchExpressions.at(-1), name).to.deep.equal(served);
  });

  it("let everything pass while the operator is away, but for Pods whose owner requires it", () => {
    const failing = entriesOf().filter(({ failurePolicy }) => failurePolicy === "Fail");
    expect(failing.map(({ name }) => name)).to.deep.equal([
      "required-pod.bunting.dev",
      "required-namespace.bunting.dev",
    ]);
    expect(failing[1]?.namespaceSelector?.matchLabels).to.deep.equal({ "bunting.dev/injection": "required" });
    for (const each of entriesOf()) expect(each).to.include({ timeoutSeconds: 3, sideEffects: "None" });
  });

  it("show no Pod of the operator's own namespace, nor of kube-system", () => {
    const ofPods = entriesOf().filter(({ reinvocationPolicy }) => reinvocationPolicy === "IfNeeded");
    expect(ofPods).to.have.length(3);
    for (const { namespaceSelector, rules } of ofPods) {
      expect(namespaceSelector?.matchExpressions).to.deep.equal([
        { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", "bunting"] },
      ]);
      expect(rules).to.deep.equal([
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
      ]);
    }
  });

  it("have one condition each for Pods, since of several the API server evaluates all", () => {
    const ofPods = entriesOf({ validatesFlags: false });
    for (const { name, matchConditions = [] } of ofPods) {
      expect(matchConditions, name).to.have.lengthOf(1);
      expect(matchConditions[0]?.expression, name).to.match(
        /^object.*enabled'\]\.orValue\(''\) == 'true' && /,
      );
    }
  });

  it("reach the operator by its Service, or by a URL, and leave the paths and the bundle to the leader", () => {
    for (const { clientConfig, name } of entriesOf()) {
      expect(clientConfig).to.deep.equal({ service: { namespace: "bunting", name: "webhooks", port: 443 } });
      expect(pathOfWebhook.has(name), name).to.equal(true);
    }
    expect(entriesOf({ address: { url: "https://localhost:1" } })[0]?.clientConfig).to.deep.equal({
      url: "https://localhost:1/",
    });
  });

  it("show only Pods of the labels that are asked for", () => {
    const old = { key: "old", operator: "DoesNotExist" };
    const objectSelector = { matchLabels: { team: "shop" }, matchExpressions: [old] };
    const [mutating, ...refusing] = entriesOf({ objectSelector, validatesFlags: false });
    const ofPolicy = { key: "bunting.dev/injected-by", operator: "NotIn", values: ["policy"] };
    expect(mutating?.objectSelector).to.deep.equal({ ...objectSelector, matchExpressions: [old, ofPolicy] });
    for (const each of refusing) expect(each).to.deep.include({ objectSelector });
  });

  it("show the one that injects no Pod that a policy has injected, and those that refuse all", () => {
    const [mutating, ...refusing] = entriesOf({ validatesFlags: false });
    expect(mutating?.objectSelector?.matchExpressions).to.have.lengthOf(1);
    for (const each of refusing) expect(each).to.not.have.property("objectSelector");
  });
});

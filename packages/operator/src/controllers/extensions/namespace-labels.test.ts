import { expect } from "chai";
import { labelsOf, namespaceOf } from "./namespace-labels.js";

describe("labelsOf", () => {
  const stored = (annotations: Readonly<Record<string, string>>): object =>
    namespaceOf("shop", labelsOf({ metadata: { name: "shop", labels: { stage: "dev" }, annotations } }));

  it("keeps labels and annotations, but not what kubectl keeps for itself", () => {
    const annotations = { "example.com/a": "1", "extensions.bunting.dev/qos": "{}" };
    expect(
      stored({ ...annotations, "kubectl.kubernetes.io/last-applied-configuration": "{}" }),
    ).to.deep.equal({ name: "shop", labels: { stage: "dev" }, annotations });
  });

  it("keeps of many annotations those for extensions, and of too many of these none", () => {
    const ours = { "extensions.bunting.dev/qos": "{}" };
    expect(stored({ ...ours, big: "x".repeat(20_000) }))
      .to.have.property("annotations")
      .deep.equal(ours);
    expect(stored({ "extensions.bunting.dev/qos": "x".repeat(20_000) }))
      .to.have.property("annotations")
      .deep.equal({});
  });

  it("knows nothing of namespaces that are gone", () => {
    expect(namespaceOf("shop", undefined)).to.deep.equal({ name: "shop", labels: {}, annotations: {} });
  });
});

import { expect } from "chai";
import { isManifest, isYamlManifest } from "./is-manifest.js";

describe("isManifest", () => {
  it("is true for objects of Kubernetes, and false for flag documents and for what is neither", () => {
    const manifests = [
      '{"kind":"FeatureFlag"}',
      ' {"metadata":{"flags":[1]}, "apiVersion":1',
      '{"items":[],"kind":"List"}',
    ];
    for (const text of manifests) expect(isManifest(Buffer.from(text)), text).to.equal(true);
    const others = [
      "",
      "{}",
      "[]",
      '{"flags":{},"kind":1}',
      '{"metadata":{"kind":1},"flags":{}}',
      '{"a"',
      '{"a":"kind"}',
    ];
    for (const text of others) expect(isManifest(Buffer.from(text)), text).to.equal(false);
  });

  it("knows YAML by keys that are not indented", () => {
    expect(isYamlManifest(Buffer.from("# flags\napiVersion: v1\n"))).to.equal(true);
    expect(isYamlManifest(Buffer.from('{"kind": "FeatureFlag"}'))).to.equal(true);
    expect(isYamlManifest(Buffer.from("flags:\n  kind: {}\n"))).to.equal(false);
  });
});

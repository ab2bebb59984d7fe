import { inlineKinds, type InlineKind } from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { withInlineTemplate } from "./inline-template.js";

const flags = { "openfeature.dev/inline-flags": "{}" };
const spec = { containers: [{ name: "app" }] };

function workload(annotations: object, template: object = { spec }, name = "checkout"): JsonObject {
  return { metadata: { name, annotations }, spec: { replicas: 2, template } } as unknown as JsonObject;
}

/** The annotations of the template afterwards. */
const annotated = (object: JsonObject): unknown =>
  (
    withInlineTemplate("Deployment", object) as {
      readonly spec: { readonly template: { metadata?: object } };
    }
  ).spec.template.metadata;
const template = (annotations: object): object => ({ metadata: { labels: { app: "a" }, annotations }, spec });

describe("withInlineTemplate", () => {
  it("names the FeatureFlag in the template, and has its Pods ask for flags", () => {
    const expected = {
      annotations: {
        "openfeature.dev/enabled": "true",
        "openfeature.dev/featureflag": "inline-deployment-checkout",
      },
    };
    expect(annotated(workload(flags))).to.deep.equal(expected);
    expect(annotated(workload({ "openfeature.io/inline-flags": "" }))).to.deep.equal(expected);
  });

  it("names it after those that are named already, and leaves all else as it is", () => {
    const others = {
      "openfeature.dev/enabled": "false",
      "openfeature.dev/featureflag": "a, team/b,",
      x: "y",
    };
    const before = workload(flags, template(others));
    expect(annotated(before)).to.deep.equal({
      labels: { app: "a" },
      annotations: { ...others, "openfeature.dev/featureflag": "a,team/b,inline-deployment-checkout" },
    });
    const after = withInlineTemplate("Deployment", before);
    expect(after["spec"]).to.have.property("replicas", 2);
    expect(after["metadata"]).to.equal(before["metadata"]);
  });

  it("changes nothing where it is named, in whatever place, or where nothing is to be named", () => {
    const named = { "openfeature.dev/featureflag": "inline-deployment-checkout , a" };
    for (const object of [
      workload(flags, template(named)),
      workload({}, template({ "openfeature.dev/featureflag": "inline-deployment-other" })),
      workload({}),
      { metadata: { annotations: flags, generateName: "a-" }, spec: { template: { spec } } } as JsonObject,
      workload(flags, { spec }, "x".repeat(235)),
      { metadata: { name: "checkout", annotations: flags }, spec: {} } as JsonObject,
    ])
      expect(withInlineTemplate("Deployment", object)).to.equal(object);
  });

  it("no longer names it once the workload has no flags of its own", () => {
    const own = {
      "openfeature.dev/enabled": "true",
      "openfeature.dev/featureflag": "inline-deployment-checkout",
    };
    expect(annotated(workload({}, template(own)))).to.have.deep.property("annotations", {
      "openfeature.dev/enabled": "true",
    });
    const mixed = { "openfeature.dev/featureflag": "a,inline-deployment-checkout,b" };
    expect(annotated(workload({}, template(mixed)))).to.have.deep.property("annotations", {
      "openfeature.dev/featureflag": "a,b",
    });
  });

  it("takes annotations that are null for none", () => {
    const metadata = { name: "checkout", annotations: null };
    const before: JsonObject = { metadata, spec: { template: { metadata: { annotations: null } } } };
    expect(withInlineTemplate("Deployment", before)).to.equal(before);
  });

  for (const kind of Object.keys(inlineKinds) as InlineKind[])
    it(`finds the template of a ${kind}`, () => {
      const inner = { template: { spec } };
      const object = {
        metadata: { name: "checkout", annotations: flags },
        spec: kind === "CronJob" ? { schedule: "@daily", jobTemplate: { spec: inner } } : inner,
      } as unknown as JsonObject;
      const named = `"openfeature.dev/featureflag":"inline-${kind.toLowerCase()}-checkout"`;
      const after = withInlineTemplate(kind, object);
      expect(JSON.stringify(after)).to.contain(named);
      expect(withInlineTemplate(kind, after)).to.equal(after);
    });
});

import { systemClock } from "@bunting/runtime";
import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import type { AdmissionAnswer } from "./admission-answer.js";
import { workloadWebhook } from "./workload-webhook.js";

const good = '{"flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}';

function workload(text: string | undefined, name: object = { name: "checkout" }): JsonObject {
  const annotations = text === undefined ? {} : { "openfeature.dev/inline-flags": text };
  const template = { spec: { containers: [{ name: "app" }] } };
  return { metadata: { ...name, annotations }, spec: { template } };
}

describe("workloadWebhook", () => {
  let level: string | undefined;
  const webhook = workloadWebhook({
    maxDocumentBytes: 1_000_000,
    levelOfNamespace: () => level,
    clock: systemClock,
  });
  beforeEach(() => (level = undefined));

  async function review(
    object: JsonObject,
    { oldObject, kind = "Deployment" }: { readonly oldObject?: JsonObject; readonly kind?: string } = {},
  ): Promise<AdmissionAnswer> {
    const operation = oldObject === undefined ? "CREATE" : "UPDATE";
    const group = kind.endsWith("Job") ? "batch" : "apps";
    return webhook.review(
      {
        ...{ uid: "1", kind: { group, version: "v1", kind }, operation, namespace: "shop", subResource: "" },
        ...{ object, oldObject, dryRun: false },
      },
      systemClock.monotonicMs(),
    );
  }

  it("answers for the five kinds", () => {
    expect(webhook.kinds.map(({ group, kind }) => `${group}/${kind}`)).to.deep.equal([
      "apps/Deployment",
      "apps/StatefulSet",
      "apps/DaemonSet",
      "batch/Job",
      "batch/CronJob",
    ]);
  });

  it("has the template of a workload with good flags name its FeatureFlag", async () => {
    const { isAllowed, warnings, patch } = await review(workload(good));
    expect([isAllowed, warnings]).to.deep.equal([true, []]);
    expect(JSON.stringify(patch)).to.contain("inline-deployment-checkout");
  });

  it("refuses flags of which no API server would store a FeatureFlag, with their line", async () => {
    const text =
      "flags:\n  a:\n    variants: { on: true }\n  b:\n    state: ENABLED\n    variants: { on: true }\n";
    const { isAllowed, refusal } = await review(workload(text));
    expect(isAllowed).to.equal(false);
    expect(refusal?.causes?.map(({ message }) => message.split(",").slice(0, 2).join())).to.deep.equal([
      'line 2, column 3: flag "a" has no "state"',
      'line 2, column 3: flag "a" has no "defaultVariant"',
      'line 4, column 3: flag "b" has no "defaultVariant"',
    ]);
  });

  it("takes YAML as well", async () => {
    const text = "flags:\n  a:\n    state: ENABLED\n    variants: { on: true }\n    defaultVariant: on\n";
    expect(await review(workload(text))).to.include({ isAllowed: true });
  });

  const manifest = JSON.stringify({
    ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag" },
    ...{ metadata: { namespace: "shop", name: "mine" }, spec: { flagSpec: JSON.parse(good) as object } },
  });
  for (const [what, text, says] of [
    ["that is no JSON", '{"flags":\n  {"a": }}', /line 2, column \d+: /],
    ["that is a list", "[]", /expected an object/],
    ["that is empty", "", /./],
    ["without flags", '{"flag":{}}', /"flags"/],
    ["with a part of a manifest", `{"apiVersion":"core.openfeature.dev/v1beta1","kind":"FeatureFlag"}`, /./],
    ["with a manifest", manifest, /they are a manifest: write a flagd document alone/],
    ["with two manifests", `${manifest}\n---\n${manifest.replace('"mine"', '"other"')}`, /./],
    [
      "with a variant that there is not",
      '{"flags":\n{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"off"}}}',
      /line 2, column \d+: .*variant/,
    ],
    [
      "with an unknown operator",
      good.replace('"on"}}}', '"on","targeting":{"iff":[1]}}}}'),
      /line 1, column \d+: .*iff/,
    ],
    ["of more than 64 KB", `{"flags":{},"x":"${"x".repeat(65_536)}"}`, /65536 are taken/],
  ] as const)
    it(`refuses a text ${what}, and says where`, async () => {
      const { isAllowed, refusal, patch } = await review(workload(text));
      expect(isAllowed).to.equal(false);
      expect(refusal?.message).to.match(says);
      expect(refusal?.message).to.match(/^metadata\.annotations\[openfeature\.dev\/inline-flags\]: /);
      expect(refusal?.causes?.[0]?.field).to.equal("metadata.annotations[openfeature.dev/inline-flags]");
      expect(patch).to.equal(undefined);
    });

  it("refuses nothing where the namespace wants warnings only", async () => {
    level = "warn";
    const { isAllowed, warnings = [] } = await review(workload("{"));
    expect(isAllowed).to.equal(true);
    expect(warnings[0]).to.match(/line 1/);
  });

  it("does not judge again what was stored, so that the rest of a workload can be mended", async () => {
    expect(await review(workload("{"), { oldObject: workload("{") })).to.include({ isAllowed: true });
    expect(await review(workload("{"), { oldObject: workload(good) })).to.include({ isAllowed: false });
  });

  it("leaves the template of a Job as it was created", async () => {
    const [before, after] = [workload(undefined), workload(good)];
    expect(await review(after, { oldObject: before, kind: "Job" })).not.to.have.property("patch");
    expect((await review(after, { kind: "Job" })).patch).to.have.length(1);
  });

  it("warns of a workload whose name is made later, or too long", async () => {
    for (const name of [{ generateName: "a-" }, { name: "x".repeat(235) }]) {
      const { warnings = [], patch } = await review(workload(good, name));
      expect(warnings).to.have.length(1);
      expect(patch).to.deep.equal([]);
    }
  });
});

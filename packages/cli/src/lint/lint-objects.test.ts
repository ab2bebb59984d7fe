import { expect } from "chai";
import { lintObjects } from "./lint-objects.js";
import { unknownFlags } from "./unknown-flags.js";

async function found(text: string): Promise<readonly string[]> {
  const { findings } = await lintObjects("objects.yaml", text);
  return findings.map(
    ({ line, column, severity, kind, message }) => `${line}:${column} ${severity} ${kind}: ${message}`,
  );
}

function pod(...annotations: readonly string[]): string {
  const lines = annotations.map((annotation) => `    ${annotation}\n`).join("");
  return `kind: Pod\nmetadata:\n  annotations:\n${lines}`;
}

const asking = ['openfeature.dev/enabled: "true"', "openfeature.dev/featureflagsource: a, shop/b"];

describe("lintObjects", () => {
  it("finds nothing in objects as the documentation shows them, and counts those that have to do with flags", async () => {
    const source =
      "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlagSource\nspec: { sources: [{ source: a }] }\n";
    const text = `${source}---\n${pod(...asking)}---\nkind: Service\nmetadata: { annotations: { openfeature.dev/x: y } }\n`;
    const { findings, objects } = await lintObjects("a.yaml", text);
    expect(findings).to.deep.equal([]);
    expect(objects).to.equal(2);
  });

  it("finds what is wrong in a FeatureFlagSource and an InProcessConfiguration, at its place, also in a List", async () => {
    const text = [
      "kind: List",
      "items:",
      "  - apiVersion: core.openfeature.dev/v1beta1",
      "    kind: FeatureFlagSource",
      "    spec:",
      "      sources:",
      "        - source: a",
      "          provider: flagd-prxy",
      "  - apiVersion: core.openfeature.dev/v1beta1",
      "    kind: InProcessConfiguration",
      "    spec: { port: 70000 }",
      "",
    ].join("\n");
    expect((await found(text)).map((line) => line.split(":").slice(0, 2).join(":"))).to.deep.equal([
      "8:11 error provider",
      "11:13 error port",
    ]);
  });

  it("finds what is wrong in a FeatureFlag beside its flags", async () => {
    const text = [
      "apiVersion: core.openfeature.dev/v1beta1",
      "kind: FeatureFlag",
      "spec:",
      "  flagSpec: { flags: {} }",
      "  rollout: { waves: [0], observe: 1m30s }",
      "",
    ].join("\n");
    expect((await found(text)).map((line) => line.split(":").slice(0, 2).join(":"))).to.deep.equal([
      "5:22 error rollout",
      "5:26 error rollout",
    ]);
  });

  it("finds annotations that are no texts, are mistyped, or have no effect", async () => {
    const text = pod(
      "openfeature.dev/enabled: true",
      "openfeature.dev/featureflagsorce: a",
      "bunting.dev/injection: must",
      'openfeature.dev/allowkubernetessync: "yes"',
      "bunting.dev/injected: policy abc",
      "team.example/owner: shop",
    );
    expect(await found(text)).to.deep.equal([
      '4:5 error annotation: true is no text, and the API server refuses it: write "true"',
      '5:5 warning annotation: nobody reads the annotation "openfeature.dev/featureflagsorce": did you mean "openfeature.dev/featureflagsource"?',
      '6:5 warning annotation: only "required" has an effect',
      '7:5 warning annotation: only "true" has an effect, and "yes" counts as "false"',
      "8:5 warning annotation: the operator writes it, and takes what others write for its own",
      "4:5 warning annotation: the Pod asks for flags, and names none: add openfeature.dev/featureflagsource",
    ]);
  });

  it("finds names that can't be names, and names that are not asked for", async () => {
    expect(await found(pod("openfeature.dev/featureflagsource: a_b, c"))).to.deep.equal([
      '4:5 error annotation: "a_b" can\'t be the name of an object: write a name, or namespace/name',
      '4:5 warning annotation: it has no effect without openfeature.dev/enabled: "true"',
    ]);
    const nothing = pod('openfeature.dev/enabled: "true"', 'openfeature.dev/inprocessconfiguration: " ,"');
    expect((await found(nothing))[0]).to.match(/^5:5 error annotation: it names nothing/);
  });

  it("knows the annotations that name FeatureFlags, and reads their names", async () => {
    const enabled = 'openfeature.dev/enabled: "true"';
    for (const annotation of [
      "openfeature.dev/featureflag: a, shop/b",
      "openfeature.io/standingorder: shop/b",
      "openfeature.agent/standing-orders-resource: b",
    ])
      expect(await found(pod(enabled, annotation)), annotation).to.deep.equal([]);
    expect(await found(pod(enabled, "openfeature.dev/featureflag: a_b"))).to.have.length(1);
    expect(await found(pod(enabled, "openfeature.io/standingorder: a,b"))).to.have.length(1);
    expect(await found(pod(enabled, "openfeature.io/standingordr: a"))).to.deep.equal([
      '5:5 warning annotation: nobody reads the annotation "openfeature.io/standingordr": did you mean "openfeature.io/standingorder"?',
      "4:5 warning annotation: the Pod asks for flags, and names none: add openfeature.dev/featureflagsource",
    ]);
    expect((await found(pod("openfeature.dev/featureflag: a")))[0]).to.include("no effect without");
  });

  it("reads the templates of workloads, and says of annotations beside them that nobody reads them", async () => {
    const cron = [
      "kind: CronJob",
      "metadata: { annotations: { openfeature.dev/enabled: 'true' } }",
      "spec: { jobTemplate: { spec: { template: { metadata: { annotations: { openfeature.dev/enabld: 'true' } } } } } }",
      "",
    ].join("\n");
    expect((await found(cron)).map((line) => line.split(" ").slice(0, 7).join(" "))).to.deep.equal([
      "2:28 warning annotation: it is an annotation",
      "3:71 warning annotation: nobody reads the annotation",
    ]);
  });

  it("leaves a text that is no YAML to the reader of flags", async () => {
    expect(await found("kind: [FeatureFlagSource")).to.deep.equal([]);
  });
});

describe("unknownFlags", () => {
  const at = { file: "a.yaml", line: 1, column: 2 };
  const remarks = (topic: string, hasNamespace: boolean, ...topics: readonly string[]): readonly string[] =>
    unknownFlags([{ ...at, topic, hasNamespace }], topics).map(
      ({ severity, message }) => `${severity} ${message}`,
    );

  it("remarks a FeatureFlag that is in none of the files, and which one may be meant", () => {
    expect(remarks("shop/chekout", true, "shop/checkout")).to.deep.equal([
      'remark none of these files has the FeatureFlag shop/chekout: did you mean "checkout"?',
    ]);
    expect(remarks("shop/flags", true, "other/flags")).to.have.length(1);
  });

  it("takes a namespace that a file leaves out for any, and remarks nothing where there are no FeatureFlags", () => {
    expect(remarks("default/flags", false, "shop/flags")).to.deep.equal([]);
    expect(remarks("shop/flags", true, "default/flags")).to.deep.equal([]);
    expect(remarks("shop/flags", true)).to.deep.equal([]);
  });
});

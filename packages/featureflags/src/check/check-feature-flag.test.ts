import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { checkFeatureFlag, checkingFeatureFlag } from "./check-feature-flag.js";
import type { Finding } from "./finding.js";

const options = { maxDocumentBytes: 1_000_000 };
const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

function featureFlag(flagSpec: JsonObject, annotations: JsonObject = {}): JsonObject {
  return {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name: "shop", namespace: "team", uid: "4f", resourceVersion: "7", annotations },
    spec: { flagSpec },
  };
}

/** `severity kind path`. */
function brief(findings: readonly Finding[]): string[] {
  return findings.map(({ severity, kind, path }) => `${severity} ${kind} ${path.join("/")}`);
}

function check(object: JsonObject): string[] {
  return brief(checkFeatureFlag(object, options));
}

describe("checkFeatureFlag", () => {
  it("finds nothing in a FeatureFlag that is served as it stands", () => {
    expect(check(featureFlag({ flags: { a: flag } }))).to.deep.equal([]);
    expect(check({ ...featureFlag({}), spec: {} })).to.deep.equal([]);
  });

  it("names the field of the object that is wrong", () => {
    expect(check(featureFlag({ flags: { a: { ...flag, defaultVariant: "of" } } }))).to.deep.equal([
      "error flag spec/flagSpec/flags/a/defaultVariant",
    ]);
    const targeting = { if: [{ starts_wiht: [] }, { $ref: "gone" }, "old"] };
    expect(check(featureFlag({ flags: { a: { ...flag, targeting } } }))).to.deep.equal([
      "error unknown-operator spec/flagSpec/flags/a/targeting/if/0/starts_wiht",
      "error unknown-evaluator spec/flagSpec/flags/a/targeting/if/1/$ref",
      "error unknown-variant spec/flagSpec/flags/a/targeting/if/2",
    ]);
    expect(check(featureFlag({ flags: {}, $evaluators: { idle: true } }))).to.deep.equal([
      "warning unused-evaluator spec/flagSpec/$evaluators/idle",
    ]);
  });

  it("names what is wrong with a remote flag provider, and asks for no flags beside one", () => {
    const withRemote = (remoteFlagProvider: JsonObject): JsonObject => ({
      ...featureFlag({}),
      spec: { remoteFlagProvider },
    });
    expect(check(withRemote({ type: "http", uri: "https://flags.example.com/shop.json" }))).to.deep.equal([]);
    expect(
      check(withRemote({ type: "htp", uri: "https://u:p@flags.example.com", interval: "1s" })),
    ).to.deep.equal([
      "error remote spec/remoteFlagProvider/type",
      "error remote spec/remoteFlagProvider/uri",
      "error remote spec/remoteFlagProvider/interval",
    ]);
  });

  it("says of which flag a finding is, and why", () => {
    const [finding] = checkFeatureFlag(
      featureFlag({ flags: { a: { ...flag, defaultVariant: "of" } } }),
      options,
    );
    expect(finding).to.include({ flag: "a" });
    expect(finding?.message).to.equal(
      'agents refuse it: flag "a": its default variant "of" is not one of its variants ("on", "off")',
    );
  });

  it("refuses what the proxy refuses", () => {
    expect(check(featureFlag({ flags: { a: { ...flag, state: 1 } } }))).to.deep.equal([
      "error document spec/flagSpec/flags/a/state",
    ]);
    expect(check({ ...featureFlag({}), spec: [] })).to.deep.equal(["error document spec"]);
    expect(check({ ...featureFlag({}), metadata: { name: "No" } })).to.deep.equal([
      "error manifest metadata/name",
    ]);
    const old = { ...featureFlag({}), apiVersion: "core.openfeature.dev/v1alpha1" };
    expect(check(old)).to.deep.equal(["error manifest apiVersion"]);
    expect(check({ apiVersion: "v1", kind: "Pod" })).to.deep.equal(["error manifest "]);
  });

  it("warns of what is served in another form, and of who cannot read it", () => {
    const metadata = { team: { name: "shop" } };
    expect(check(featureFlag({ flags: { a: flag }, metadata }))).to.deep.equal([
      "warning stripped-metadata spec/flagSpec/metadata/team",
    ]);
    expect(check(featureFlag({ flags: {} }, { "bunting.dev/readers": "team-a,*" }))).to.deep.equal([
      "warning document metadata/annotations/bunting.dev/readers",
    ]);
  });

  it("says that a document is too large, and how the maximum is set where it can be", () => {
    const object = featureFlag({ flags: { a: flag } });
    const [finding, ...others] = checkFeatureFlag(object, { maxDocumentBytes: 20 });
    expect(others).to.deep.equal([]);
    expect(finding).to.include({ severity: "error", kind: "too-large" });
    expect(finding?.path).to.deep.equal(["spec", "flagSpec"]);
    expect(finding?.message).to.match(/^the document team\/shop has \d+ bytes, more than 20: split it/);
    const [named] = checkFeatureFlag(object, { maxDocumentBytes: 20, limitOption: "--max" });
    expect(named?.message).to.contain("more than 20 (--max): split it");
  });

  it("reads first, and checks a flag in each step, so that others have their turn between two", () => {
    const flags = { a: flag, b: { ...flag, state: "ON" }, c: flag };
    const work = checkingFeatureFlag(featureFlag({ flags }), options);
    const steps = [1, 2, 3, 4].map(() => work.next());
    expect(steps.map(({ done }) => done)).to.deep.equal([false, false, false, false]);
    expect(work.next()).to.deep.equal({
      done: true,
      value: checkFeatureFlag(featureFlag({ flags }), options),
    });
  });

  it("leaves the flags out that come after as many findings as are wanted", () => {
    const bad = { ...flag, targeting: { starts_wiht: [] } };
    const object = featureFlag({ flags: { a: flag, b: bad, c: bad }, $evaluators: { idle: true } });
    expect(brief(checkFeatureFlag(object, { ...options, maxFindings: 1 }))).to.deep.equal([
      "error unknown-operator spec/flagSpec/flags/b/targeting/starts_wiht",
    ]);
    expect(check(object)).to.have.length(3);
  });

  it("finds the errors of flags that come after as many warnings as are wanted", () => {
    const mixed = { ...flag, variants: { on: true, off: "no" } };
    const bad = { ...flag, targeting: { starts_wiht: [] } };
    const object = featureFlag({ flags: { a: mixed, b: mixed, c: mixed, d: bad } });
    expect(brief(checkFeatureFlag(object, { ...options, maxFindings: 2 }))).to.deep.equal([
      "warning mixed-variants spec/flagSpec/flags/a/variants",
      "warning mixed-variants spec/flagSpec/flags/b/variants",
      "error unknown-operator spec/flagSpec/flags/d/targeting/starts_wiht",
    ]);
  });

  it("checks evaluators that refer to each other, however many these are", () => {
    const chain = (length: number, last: JsonObject): JsonObject =>
      Object.fromEntries(
        Array.from({ length }, (_, i) => [
          `e${i}`,
          i + 1 < length ? { if: [true, { $ref: `e${i + 1}` }] } : last,
        ]),
      );
    const object = (length: number, last: JsonObject): JsonObject =>
      featureFlag({
        flags: { a: { ...flag, targeting: { $ref: "e0" } } },
        $evaluators: chain(length, last),
      });
    const kinds = (of: JsonObject): string[] => checkFeatureFlag(of, options).map(({ kind }) => kind);
    expect(kinds(object(8_000, { if: [true, "old"] })), "agents refuse it").to.deep.equal(["flag"]);
    expect(kinds(object(10, { if: [true, "old"] }))).to.deep.equal(["unknown-variant"]);
  });

  it("names twenty variants at most, however many a flag has", () => {
    const variants = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`v${i}`, i]));
    const messageOf = (of: JsonObject): string => {
      const a = { ...flag, variants: of, defaultVariant: "v0", targeting: { if: [true, "old"] } };
      return checkFeatureFlag(featureFlag({ flags: { a } }), options)[0]?.message ?? "";
    };
    expect(messageOf(variants)).to.contain('"v19", ...)');
    expect(messageOf(Object.fromEntries(Object.entries(variants).slice(0, 20)))).to.contain('"v18", "v19")');
  });

  it("leaves out warnings about a field that is an error", () => {
    const choosing = { ...flag, targeting: { if: [{ sem_ver: [] }, "on", { sem_ver: [] }] } };
    expect(check(featureFlag({ flags: { a: choosing } }))).to.deep.equal([
      "warning operator-arguments spec/flagSpec/flags/a/targeting/if/0/sem_ver",
      "error unknown-variant spec/flagSpec/flags/a/targeting/if/2/sem_ver",
    ]);
  });
});

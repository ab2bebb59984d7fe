import type { FeatureFlagSource, InProcessConfiguration } from "@bunting/featureflags/resources";
import { readOptions } from "@bunting/runtime";
import { expect } from "chai";
import type { EntryLookup } from "../admission/entry-lookup.js";
import { SeenTexts } from "../controllers/injection/seen-texts.js";
import type { InjectionInputs } from "../desired/injection.js";
import { operatorOptionTable } from "../options.js";
import { sidecarSettings, sourceSettings } from "../settings.js";
import { entryLookup } from "./entry-lookup.js";

const apiVersion = "core.openfeature.dev/v1beta1";
const source: FeatureFlagSource = {
  apiVersion,
  kind: "FeatureFlagSource",
  metadata: { name: "checkout", namespace: "shop" },
  spec: { sources: [{ source: "flags", provider: "flagd-proxy" }] },
};
const inProcess: InProcessConfiguration = {
  apiVersion,
  kind: "InProcessConfiguration",
  metadata: { name: "direct", namespace: "shop" },
  spec: {},
};

describe("the look-up of what a Pod gets", () => {
  let lookup: EntryLookup;
  let seen: SeenTexts;
  let hasSynced: boolean;

  beforeEach(async () => {
    const { options } = await readOptions(operatorOptionTable, { argv: [], env: {}, readsConfig: false });
    seen = new SeenTexts();
    hasSynced = true;
    const inputs = (namespace: string): InjectionInputs => ({
      namespace: { name: namespace, annotations: {} },
      catalogue: {
        featureFlagSource: (key) => (key === "shop/checkout" ? source : undefined),
        inProcessConfiguration: (key) => (key === "shop/direct" ? inProcess : undefined),
        flagReaders: () => undefined,
      },
      rules: { ...sourceSettings(options), namespace },
      settings: sidecarSettings(options, "1.2.3"),
    });
    lookup = entryLookup(
      {
        get hasSynced() {
          return hasSynced;
        },
        inputs,
      },
      seen,
    );
  });

  const reasonOf = (namespace: string, list: "sources" | "inProcess", text: string): string => {
    const found = lookup(namespace, { list, text });
    return "reason" in found ? `${found.reason}: ${found.message}` : expect.fail("there is an entry");
  };

  it("compiles the text, and has it compiled for the API server from then on", () => {
    const found = lookup("shop", { list: "sources", text: "checkout,shop/checkout" });
    expect(found).to.have.nested.property("container.name", "flagd");
    expect(seen.of("shop", "sources")).to.deep.equal(["checkout,shop/checkout"]);
    expect(lookup("shop", { list: "inProcess", text: "direct" })).to.have.property("env");
    expect(seen.of("shop", "inProcess")).to.deep.equal(["direct"]);
  });

  it("says why there is nothing, in the words that Pods are told", () => {
    expect(reasonOf("shop", "sources", "nowhere")).to.match(/^UnknownSource: .*shop\/nowhere/);
    expect(reasonOf("shop", "inProcess", "nowhere")).to.match(/^UnknownSource: /);
    expect(reasonOf("shop", "sources", " , ")).to.match(/^NoSource: /);
    expect(reasonOf("other", "sources", "shop/checkout")).to.match(/^NotShared: /);
    expect(reasonOf("shop", "sources", "Not a name")).to.match(/^InvalidSource: /);
    expect(seen.of("shop", "sources")).to.deep.equal([]);
  });

  it("knows nothing before all sources have been read", () => {
    hasSynced = false;
    expect(reasonOf("shop", "sources", "checkout")).to.contain("has just started");
  });
});

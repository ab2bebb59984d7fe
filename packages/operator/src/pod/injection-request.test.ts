import { expect } from "chai";
import { entryOf, injectionRequest, wantsFlags } from "./injection-request.js";
import { bareEntry, fullEntry, inProcessEntry } from "./injection-entry.fixture.js";

describe("injectionRequest", () => {
  const asking = (annotations: Readonly<Record<string, string>>): ReturnType<typeof injectionRequest> =>
    injectionRequest({ annotations });
  const source = { "openfeature.dev/featureflagsource": "shop, other/base" };
  const inProcess = { "openfeature.dev/inprocessconfiguration": "direct" };

  it("takes the text as it is, and a FeatureFlagSource before an InProcessConfiguration", () => {
    expect(asking(source)).to.include({ list: "sources", text: "shop, other/base" });
    expect(asking(inProcess)).to.include({ list: "inProcess", text: "direct" });
    expect(asking({ ...inProcess, ...source })).to.include({ list: "sources", text: "shop, other/base" });
    expect(asking({})).to.equal(undefined);
    expect(injectionRequest({})).to.equal(undefined);
  });

  it("is of Pods that say so by the very word", () => {
    expect(wantsFlags({ annotations: { "openfeature.dev/enabled": "true" } })).to.equal(true);
    for (const word of ["True", "1", ""]) {
      expect(wantsFlags({ annotations: { "openfeature.dev/enabled": word } })).to.equal(false);
    }
    expect(wantsFlags({})).to.equal(false);
  });

  it("finds its entry, and nothing that an Injection does not have", () => {
    const spec = {
      format: 1,
      sources: { a: fullEntry, both: bareEntry },
      inProcess: { both: inProcessEntry },
    } as const;
    expect(entryOf(spec, { list: "sources", text: "a" })).to.equal(fullEntry);
    expect(entryOf(spec, { list: "inProcess", text: "both" })).to.equal(inProcessEntry);
    for (const text of ["b", "toString", "__proto__", ""]) {
      expect(entryOf(spec, { list: "sources", text }), text).to.equal(undefined);
    }
    expect(entryOf({ format: 1, sources: {} }, { list: "inProcess", text: "both" })).to.equal(undefined);
    expect(entryOf(undefined, { list: "sources", text: "a" })).to.equal(undefined);
  });
});

import { expect } from "chai";
import { askConsent, type CrossNamespace } from "./consent.js";

describe("askConsent", () => {
  const ask = (
    readers: unknown,
    crossNamespace: CrossNamespace = "consent",
    from = "platform",
    served?: readonly string[],
  ) =>
    askConsent({
      served,
      kind: "FeatureFlagSource",
      object: { namespace: from, name: "end-to-end" },
      readers,
      namespace: "shop",
      crossNamespace,
    });

  it("allows what is in the Pods' own namespace, whatever is set", () => {
    for (const way of ["consent", "legacy", "deny"] as const)
      expect(ask(undefined, way, "shop")).to.deep.equal({ isAllowed: true });
  });

  it("allows what the owner shares with the namespace", () => {
    expect(ask("blog, shop")).to.deep.equal({ isAllowed: true });
  });

  for (const readers of [undefined, "", "blog", "shop/checkout", "*", "shopping"])
    it(`refuses an object with the readers ${String(readers)}, and says who has to do what, not whether it exists`, () => {
      const { isAllowed, problem } = ask(readers);
      expect(isAllowed).to.equal(false);
      expect(problem?.reason).to.equal("NotShared");
      expect(problem?.message).to.equal(
        "the FeatureFlagSource platform/end-to-end does not exist, or is not shared with shop: its owner shares it by the annotation bunting.dev/readers: shop",
      );
    });

  it("refuses what is where the operator may not read, whatever is set, and says how it could", () => {
    for (const way of ["consent", "legacy"] as const) {
      const { isAllowed, problem } = ask("shop", way, "platform", ["shop", "blog"]);
      expect([isAllowed, problem?.reason]).to.deep.equal([false, "NamespaceNotServed"]);
      expect(problem?.message).to.contain("add platform to its --watch-namespaces, or use one of shop, blog");
    }
    expect(ask("shop", "consent", "platform", ["shop", "platform"])).to.deep.equal({ isAllowed: true });
  });

  it("allows everything in legacy mode, and names what would end", () => {
    expect(ask("shop", "legacy")).to.deep.equal({ isAllowed: true });
    const { isAllowed, problem } = ask(undefined, "legacy");
    expect([isAllowed, problem?.reason]).to.deep.equal([true, "CrossNamespaceLegacy"]);
  });

  it("denies all of other namespaces if that is set, shared or not", () => {
    const { isAllowed, problem } = ask("shop", "deny");
    expect([isAllowed, problem?.reason]).to.deep.equal([false, "CrossNamespaceDenied"]);
  });
});

import { expect } from "chai";
import { ProxyUse } from "./proxy-use.js";

describe("ProxyUse", () => {
  let changes: (boolean | undefined)[];

  function created(mode: "auto" | "always" | "never"): ProxyUse {
    const use = new ProxyUse(mode);
    changes = [];
    use.listen(() => changes.push(use.isWanted));
    return use;
  }

  it("is unknown until all users have been heard of, unless there is one", () => {
    const use = created("auto");
    use.set("shop", false);
    expect(use.isWanted).to.equal(undefined);
    use.set("blog", true);
    expect(use.isWanted).to.equal(true);
    use.set("blog", false);
    expect(use.isWanted).to.equal(undefined);
    use.complete();
    expect(use.isWanted).to.equal(false);
    expect(changes).to.deep.equal([true, undefined, false]);
  });

  it("ends with the last user", () => {
    const use = created("auto");
    use.complete();
    for (const user of ["shop", "blog", "shop"]) use.set(user, true);
    use.set("shop", false);
    expect(use.isWanted).to.equal(true);
    use.set("blog", false);
    expect(changes).to.deep.equal([false, true, false]);
  });

  it("is decided from the beginning where the option says so", () => {
    for (const [mode, isWanted] of [
      ["always", true],
      ["never", false],
    ] as const) {
      const use = created(mode);
      use.set("shop", true);
      use.set("shop", false);
      use.complete();
      expect(use.isWanted).to.equal(isWanted);
      expect(changes).to.deep.equal([]);
    }
  });
});

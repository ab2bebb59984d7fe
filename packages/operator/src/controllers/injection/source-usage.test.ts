import { expect } from "chai";
import { SourceUsage } from "./source-usage.js";

describe("SourceUsage", () => {
  let usage: SourceUsage;
  let changed: (string | undefined)[];
  beforeEach(() => {
    usage = new SourceUsage();
    changed = [];
    usage.listen((key) => changed.push(key));
  });

  const see = (pod: string, text?: string, annotation = "featureflagsource"): void =>
    usage.seen(`shop/${pod}`, {
      name: pod,
      annotations: text === undefined ? {} : { [`openfeature.dev/${annotation}`]: text },
    });
  const counts = (...keys: readonly string[]): unknown => keys.map((key) => usage.countOf(key));

  it("counts the Pods that name a source, also beside others and of another namespace", () => {
    see("a", "x");
    see("b", "x, team/y");
    see("c", "shop/x,x");
    usage.read();
    expect(counts("shop/x", "team/y", "shop/other")).to.deep.equal([3, 1, 0]);
  });

  it("says nothing once it hears of no Pods any more, and all of them are looked at when they were read again", () => {
    see("a", "x");
    usage.read();
    usage.ended();
    expect(counts("shop/x")).to.deep.equal([undefined]);
    usage.gone("shop/a");
    usage.read();
    expect(counts("shop/x")).to.deep.equal([0]);
    expect(changed.filter((key) => key === undefined)).to.have.length(2);
  });

  it("counts those that name FeatureFlags as well, and nobody for a FeatureFlag", () => {
    usage.seen("shop/a", {
      name: "a",
      annotations: { "openfeature.dev/featureflagsource": "x", "openfeature.dev/featureflag": "y" },
    });
    see("b", "y", "featureflag");
    usage.read();
    expect(counts("shop/x", "shop/y")).to.deep.equal([1, 0]);
  });

  it("follows Pods that change their text, and those that go", () => {
    see("a", "x");
    see("b", "x");
    usage.read();
    changed = [];
    see("a", "x");
    expect(changed, "nothing new").to.deep.equal([]);
    see("a", "y");
    usage.gone("shop/b");
    usage.gone("shop/b");
    expect(changed).to.deep.equal(["shop/x", "shop/y", "shop/x"]);
    expect(counts("shop/x", "shop/y")).to.deep.equal([0, 1]);
    see("a");
    expect(counts("shop/y")).to.deep.equal([0]);
  });

  it("knows no count before all Pods were read, and says when it does", () => {
    see("a", "x");
    expect(usage.countOf("shop/x")).to.equal(undefined);
    changed = [];
    usage.read();
    usage.read();
    expect(changed).to.deep.equal([undefined]);
  });

  it("keeps nothing of a text that is too long, and counts its Pod no more", () => {
    see("a", "x");
    usage.read();
    see("a", `x,${" ".repeat(250_000)}`);
    expect(counts("shop/x")).to.deep.equal([0]);
    changed = [];
    usage.gone("shop/a");
    expect(changed, "it is not known").to.deep.equal([]);
  });

  it("counts no Pod of another annotation, or whose text names nothing", () => {
    see("a", "x", "inprocessconfiguration");
    see("b", "Not a name");
    usage.read();
    usage.gone("shop/b");
    expect(counts("shop/x")).to.deep.equal([0]);
  });
});

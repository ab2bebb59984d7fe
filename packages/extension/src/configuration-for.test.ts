import { expect } from "chai";
import { configurationFor } from "./configuration-for.js";

const annotation = "extensions.bunting.dev/qos";
const namespace = { name: "shop", labels: {}, annotations: { [annotation]: '"of the namespace"' } };

describe("configurationFor", () => {
  it("reads the annotation of the object, and without one that of its namespace", () => {
    expect(configurationFor("qos", { [annotation]: '{"a":1}' }, namespace)).to.deep.equal({
      configuration: { a: 1 },
    });
    expect(configurationFor("qos", {}, namespace)).to.deep.equal({ configuration: "of the namespace" });
    expect(configurationFor("other", {}, namespace)).to.deep.equal({});
  });

  it("names an annotation that is no JSON, or has more levels than anything that compares JSON has room for", () => {
    const problem = (text: string): unknown => configurationFor("qos", { [annotation]: text }, namespace);
    expect(problem("{")).to.deep.equal({ problem: `the annotation ${annotation} is no JSON` });
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(problem(nested(100))).to.have.property("configuration");
    for (const levels of [101, 100_000])
      expect(problem(nested(levels))).to.deep.equal({
        problem: `the annotation ${annotation} is nested more than 100 levels deep`,
      });
  });
});

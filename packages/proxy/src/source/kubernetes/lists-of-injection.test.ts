import { expect } from "chai";
import type { KubeObject } from "@bunting/kube";
import { listsOfInjection } from "./lists-of-injection.js";

function injection(sources: unknown): KubeObject & { readonly spec: unknown } {
  return { metadata: { name: "bunting", namespace: "shop" }, spec: { sources } };
}

describe("listsOfInjection", () => {
  const entry = { flags: ["shop/a", "ops/b"], frame: "f1", digest: "x" };

  it("has the list of each text that has one", () => {
    const lists = listsOfInjection(injection({ "a , b": entry, old: { digest: "x" } }), new Map());
    expect([...lists]).to.deep.equal([["a , b", { topics: ["shop/a", "ops/b"], frame: "f1" }]]);
  });

  it("keeps the object of a list that has not changed", () => {
    const first = listsOfInjection(injection({ a: entry, b: entry, c: entry }), new Map());
    const changed = {
      a: { ...entry, digest: "y" },
      b: { ...entry, frame: "f2" },
      c: { ...entry, flags: ["ops/b", "shop/a"] },
    };
    const second = listsOfInjection(injection(changed), first);
    expect(second.get("a")).to.equal(first.get("a"));
    for (const text of ["b", "c"]) expect(second.get(text)).to.not.equal(first.get(text));
  });

  it("has nothing of what the operator does not write", () => {
    const wrong = [
      ...[
        undefined,
        null,
        7,
        [],
        { a: null },
        { a: { ...entry, flags: "shop/a" } },
        { a: { ...entry, flags: [] } },
      ],
      ...["shop", "shop/A", "../x", "a/b/c", "", 7].map((flag) => ({
        a: { ...entry, flags: ["shop/a", flag] },
      })),
      ...["", 7, undefined, "f".repeat(65)].map((frame) => ({ a: { ...entry, frame } })),
      { a: { ...entry, flags: Array.from({ length: 1_001 }, (_, index) => `shop/f${index}`) } },
    ];
    for (const sources of wrong)
      expect([...listsOfInjection(injection(sources), new Map())]).to.deep.equal([]);
    expect([...listsOfInjection({ metadata: { name: "bunting" } }, new Map())]).to.deep.equal([]);
  });
});

import { expect } from "chai";
import type { KubeObject } from "../rest/resource.js";
import { keyOf, ObjectStore } from "./object-store.js";

function object(name: string, owners: readonly string[] = [], namespace = "ns"): KubeObject {
  return { metadata: { name, namespace }, owners };
}

describe("ObjectStore", () => {
  const byOwner = ({ owners }: KubeObject): readonly string[] => owners as readonly string[];

  it("finds objects by key and by index, as they are now", () => {
    const store = new ObjectStore({ owner: byOwner });
    expect(store.set(object("a", ["x", "y"]))).to.equal(undefined);
    store.set(object("b", ["x"]));
    expect(store.by("owner", "x").map(keyOf)).to.have.members(["ns/a", "ns/b"]);
    const before = store.set(object("a", ["z"]));
    expect(before).to.deep.equal(object("a", ["x", "y"]));
    expect([...store.keys()]).to.have.length(2);
    expect(store.by("owner", "x").map(keyOf)).to.deep.equal(["ns/b"]);
    expect(store.by("owner", "y")).to.deep.equal([]);
    expect(store.by("owner", "z")).to.deep.equal([object("a", ["z"])]);
    expect(store.delete("ns/a")).to.deep.equal(object("a", ["z"]));
    expect([store.by("owner", "z"), store.get("ns/a"), store.delete("ns/a")]).to.deep.equal([
      [],
      undefined,
      undefined,
    ]);
    expect([...store.keys()]).to.deep.equal(["ns/b"]);
    expect([...store.list()]).to.deep.equal([object("b", ["x"])]);
  });

  it("keeps objects of the same name in several namespaces apart, and those of none", () => {
    const store = new ObjectStore();
    store.set(object("a"));
    store.set(object("a", [], "other"));
    store.set({ metadata: { name: "a" } });
    expect([...store.keys()]).to.deep.equal(["ns/a", "other/a", "a"]);
  });
});

import { sourceListDigest } from "@bunting/protocol";
import { expect } from "chai";
import { joinedDigests, planRollout, storedDigests, type RolloutPlan } from "./rolled-out.js";

describe("planRollout", () => {
  const injection = (
    digests: Readonly<Record<string, string>>,
    rolledOut?: string,
  ): Parameters<typeof storedDigests>[0] => ({
    metadata: {
      ...{ name: "bunting", namespace: "shop", uid: "u", resourceVersion: "1", managedFields: [{}] },
      annotations: rolledOut === undefined ? {} : { "bunting.dev/rolled-out": rolledOut },
    },
    spec: {
      format: 1,
      sources: Object.fromEntries(
        Object.entries(digests).map(([text, digest]) => [text, { digest, env: [] }]),
      ),
    },
  });
  const plan = (digests: Readonly<Record<string, string>>, rolledOut?: string): RolloutPlan =>
    planRollout(storedDigests(injection(digests, rolledOut)), (text) => text !== "calm");

  it("remembers digests that it sees for the first time, and restarts nothing for them", () => {
    for (const nothing of [undefined, "{}", "no JSON", "null", '{"a":7}']) {
      expect(plan({ b: "2", a: "1" }, nothing)).to.deep.equal({
        changed: new Set(),
        relisted: new Set(),
        next: { a: "1", b: "2" },
      });
    }
  });

  it("counts the texts of all Injections of a namespace, and of one that moves what the first has", () => {
    const first = storedDigests(injection({ a: "1", moves: "old" }, '{"b":"1"}'));
    const second = storedDigests(injection({ b: "2", moves: "new" }, '{"a":"0"}'));
    const { changed, next } = planRollout(joinedDigests(first, [second]), () => true);
    expect([...changed]).to.deep.equal(["b"]);
    expect(next).to.deep.equal({ a: "1", b: "2", moves: "old" });
  });

  it("restarts for digests that have changed", () => {
    const { changed, next } = plan({ a: "1", b: "new", c: "3" }, '{"a":"1","b":"2","gone":"9"}');
    expect([...changed]).to.deep.equal(["b"]);
    expect(JSON.stringify(next)).to.equal('{"a":"1","b":"new","c":"3","gone":"9"}');
  });

  it("restarts for what came back changed, but does not remember all that ever was", () => {
    const { next } = plan({ a: "1" }, '{"b":"1","a":"1"}');
    expect(JSON.stringify(next)).to.equal('{"a":"1","b":"1"}');
    expect([...plan({ a: "1", b: "2" }, JSON.stringify(next)).changed]).to.deep.equal(["b"]);
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`gone-${index}`, "1"]));
    expect(Object.keys(plan({ a: "1" }, JSON.stringify(many)).next)).to.have.lengthOf(101);
  });

  it("has nothing to do with sources that do not ask for it", () => {
    expect(plan({ calm: "new" }, '{"calm":"old"}')).to.deep.equal({
      ...{ changed: new Set(), relisted: new Set(), next: {} },
    });
    expect([...plan({ toString: "1" }, "{}").changed]).to.deep.equal([]);
  });

  it("is about the sources alone, where the entries say of which they are", () => {
    const entry = { digest: "1", origin: "a" };
    const stored = { metadata: { name: "bunting" }, spec: { sources: { shop: entry } } };
    expect(storedDigests(stored).digests).to.deep.equal({ shop: "a" });
  });

  describe("where sidecars follow lists", () => {
    const listed = (origins: Readonly<Record<string, string>>, rolledOut: object): RolloutPlan => {
      const sources = Object.entries(origins).map(([text, written]) => {
        const [origin, frame] = written.split("/");
        return [text, { digest: "1", origin, ...(frame === undefined ? {} : { frame, flags: ["shop/a"] }) }];
      });
      const metadata = {
        name: "bunting",
        annotations: { "bunting.dev/rolled-out": JSON.stringify(rolledOut) },
      };
      const spec = { sources: Object.fromEntries(sources) as object };
      const injection = { metadata, spec } as Parameters<typeof storedDigests>[0];
      return planRollout(storedDigests(injection), () => true);
    };

    it("tells a change of FeatureFlags alone from all others", () => {
      const now = { list: "a2/f", frame: "a2/g", none: "a2", first: "a2/f" };
      expect(listed({ list: now.list }, { list: "a1/f" })).to.deep.equal({
        changed: new Set(),
        relisted: new Set(["list"]),
        next: { list: "a2/f" },
      });
      const before = { frame: "a1/f", none: "a1/f", first: "a1" };
      const { changed } = listed(now, before);
      expect([...changed]).to.deep.equal(["frame", "none", "first"]);
    });

    it("has one roll out after the other", () => {
      const { changed, relisted, next } = listed({ a: "a2/g", b: "b2/f" }, { a: "a1/f", b: "b1/f" });
      expect([[...changed], [...relisted]]).to.deep.equal([["a"], []]);
      expect(next).to.deep.equal({ a: "a2/g", b: "b1/f" });
      expect([...listed({ a: "a2/g", b: "b2/f" }, next).relisted]).to.deep.equal(["b"]);
    });

    it("remembers the frame of what an operator without it has rolled out", () => {
      expect(listed({ a: "a1/f" }, { a: "a1" })).to.deep.equal({
        ...{ changed: new Set(), relisted: new Set(), next: { a: "a1/f" } },
      });
    });

    it("knows how agents name the newest list", () => {
      const entry = { digest: "1", origin: "a", frame: "f", flags: ["shop/a", "ops/b"] };
      const stored = { metadata: { name: "bunting", namespace: "shop" }, spec: { sources: { app: entry } } };
      const list = { namespace: "shop", text: "app", frame: "f", topics: entry.flags };
      const digest = sourceListDigest(list);
      expect(storedDigests(stored).lists).to.deep.equal(new Map([["app", { frame: "f", digest }]]));
      for (const other of [
        { namespace: "ops" },
        { text: "b" },
        { frame: "g" },
        { topics: ["ops/b", "shop/a"] },
        { topics: ["shop/a,ops/b"] },
      ])
        expect(sourceListDigest({ ...list, ...other })).not.to.equal(digest);
    });
  });

  it("keeps nothing of an Injection but digests", () => {
    expect(storedDigests(injection({ a: "1" }, '{"a":"0"}'))).to.deep.equal({
      metadata: { name: "bunting", namespace: "shop", uid: "u", resourceVersion: "1" },
      digests: { a: "1" },
      lists: new Map(),
      rolledOut: { a: "0" },
    });
    expect(storedDigests({ metadata: { name: "bunting" } }).digests).to.deep.equal({});
  });
});

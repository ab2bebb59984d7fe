import { expect } from "chai";
import { planRollout, storedDigests, type RolloutPlan } from "./rolled-out.js";

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
        next: { a: "1", b: "2" },
      });
    }
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
    expect(plan({ calm: "new" }, '{"calm":"old"}')).to.deep.equal({ changed: new Set(), next: {} });
    expect([...plan({ toString: "1" }, "{}").changed]).to.deep.equal([]);
  });

  it("is about the sources alone, where the entries say of which they are", () => {
    const entry = { digest: "1", origin: "a" };
    const stored = { metadata: { name: "bunting" }, spec: { sources: { shop: entry } } };
    expect(storedDigests(stored).digests).to.deep.equal({ shop: "a" });
  });

  it("keeps nothing of an Injection but digests", () => {
    expect(storedDigests(injection({ a: "1" }, '{"a":"0"}'))).to.deep.equal({
      metadata: { name: "bunting", namespace: "shop", uid: "u", resourceVersion: "1" },
      digests: { a: "1" },
      rolledOut: { a: "0" },
    });
    expect(storedDigests({ metadata: { name: "bunting" } }).digests).to.deep.equal({});
  });
});

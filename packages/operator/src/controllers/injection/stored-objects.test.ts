import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { KeptSpecs } from "./kept-specs.js";
import {
  readersOf,
  releaseReaders,
  releaseSpec,
  storedConfiguration,
  storedReaders,
  storedSource,
} from "./stored-objects.js";

function object(name: string, bytes: number, readers?: string): KubeObject {
  const annotations = readers === undefined ? {} : { "bunting.dev/readers": readers };
  const spec = { envVars: [{ name: "A", value: "x".repeat(bytes) }] };
  const metadata = { namespace: "shop", name, annotations };
  return { metadata, ...{ spec } };
}

describe("what is stored of objects", () => {
  let kept: KeptSpecs;

  beforeEach(() => {
    kept = new KeptSpecs();
  });

  it("has no spec that is too large, nor with whom it is shared, and says why", () => {
    const small = storedSource(object("a", 10, "team"), kept);
    expect([small.unkept, readersOf(small)]).to.deep.equal([undefined, "team"]);
    for (const stored of [
      storedSource(object("b", 300_000, "team"), kept),
      storedConfiguration(object("c", 300_000, "team"), kept),
      storedSource(object("d", 10, "team,".repeat(60_000)), kept),
    ]) {
      expect(stored.unkept?.reason).to.equal("TooLarge");
      expect(JSON.stringify(stored).length).to.be.lessThan(1_000);
    }
    expect(storedSource({ metadata: { namespace: "shop", name: "bare" } }, kept).spec).to.deep.equal({
      sources: [],
    });
  });

  it("has of a status what we write there, and nothing else that others put into it", () => {
    const condition = (type: string, message: string): object => ({
      ...{ type, status: "True", reason: "R", message },
      lastTransitionTime: "2026-11-26T10:00:00Z",
    });
    const ours = ["Accepted", "Compiled", "ProxyReady"].map((type) => condition(type, "Everything is well."));
    const conditions = [...ours, condition("Theirs", "x"), condition("Compiled", "x".repeat(100_000))];
    const status = { conditions, digest: "0123456789abcdef", usedBy: 2, other: "x" };
    expect(storedSource({ ...object("a", 1), status }, kept).status).to.deep.equal({
      ...{ conditions: ours, digest: "0123456789abcdef", usedBy: 2 },
    });
    const long = { ...object("a", 1), status: { digest: "x".repeat(100_000) } };
    expect(storedSource(long, kept).status).to.deep.equal({});
  });

  it("has room again when objects are gone, and counts kinds apart", () => {
    const fill = (): number =>
      Array.from({ length: 20 }, (_, i) => storedSource(object(`s${i}`, 200_000), kept)).filter(
        ({ unkept }) => unkept === undefined,
      ).length;
    const count = fill();
    expect(count).to.be.within(5, 15);
    expect(storedConfiguration(object("s0", 200_000), kept).unkept?.reason).to.equal("TooLarge");
    for (let i = 0; i < 20; i++) releaseSpec(storedSource(object(`s${i}`, 1), kept), kept);
    expect(fill()).to.equal(count);
  });

  it("has of FeatureFlags nobody with whom they are shared once there is no room", () => {
    const readers = "team,".repeat(40_000);
    const all = Array.from({ length: 100 }, (_, i) => storedReaders(object(`f${i}`, 0, readers), kept));
    const shared = all.filter((each) => readersOf(each) !== undefined).length;
    expect(shared).to.be.within(5, 15);
    for (const each of all) releaseReaders(each, kept);
    expect(readersOf(storedReaders(object("f99", 0, readers), kept))).to.equal(readers);
    expect(readersOf(storedReaders(object("f99", 0), kept))).to.equal(undefined);
  });
});

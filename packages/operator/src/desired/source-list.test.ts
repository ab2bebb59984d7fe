import type { DefaultedFeatureFlagSource } from "@bunting/featureflags/resources";
import { expect } from "chai";
import type { ResolvedSource } from "../sources/source-element.js";
import { sourceList, type ListOfEntry } from "./source-list.js";

const base = { port: 8013, sources: [], rolloutOnChange: true } as unknown as DefaultedFeatureFlagSource;

function served(name: string, uri = "proxy:8015"): ResolvedSource {
  const selector = `core.openfeature.dev/shop/${name}`;
  return {
    element: { uri, provider: "grpc", selector },
    way: "proxy",
    flag: { namespace: "shop", name },
    provider: "flagd-proxy",
  };
}

function remote(uri: string): ResolvedSource {
  return { element: { uri, provider: "http" }, way: "remote", provider: "http" };
}

function listOf(
  sources: readonly ResolvedSource[],
  spec: Partial<DefaultedFeatureFlagSource> = {},
  text = "a,b",
): ListOfEntry | undefined {
  return sourceList("web", text, { spec: { ...base, ...spec }, sources, problems: [] });
}

describe("sourceList", () => {
  const frame = (...given: Parameters<typeof listOf>): string | undefined => listOf(...given)?.entry.frame;

  it("names the FeatureFlags in their order, and tells the sidecar which list is its own", () => {
    const list = listOf([remote("x"), served("one"), served("two"), remote("y"), remote("z")]);
    expect(list?.entry.flags).to.deep.equal(["shop/one", "shop/two"]);
    expect(list?.variable).to.deep.equal({
      name: "BUNTING_SOURCE_LIST",
      value: `web/a,b@${list?.entry.frame ?? ""}:1:2`,
    });
  });

  it("has the same frame whatever FeatureFlags there are", () => {
    const frames = [
      [served("one")],
      [served("two"), served("one")],
      [served("one"), served("one"), served("x")],
    ];
    expect(new Set(frames.map((sources) => frame(sources))).size).to.equal(1);
    expect(frame([served("one")])).to.equal(frame([served("one")], { rolloutOnChange: false }));
  });

  it("has another frame where anything else is another", () => {
    const frames = [
      frame([served("one")]),
      frame([served("one")], { port: 8014 }),
      frame([served("one", "other:8015")]),
      frame([remote("x"), served("one")]),
      frame([served("one"), remote("x")]),
      frame([remote("y"), served("one")]),
    ];
    expect(new Set(frames).size).to.equal(frames.length);
  });

  it("is none without FeatureFlags of the proxy, with others between them, or of a text that no proxy takes", () => {
    expect(listOf([remote("x")])).to.equal(undefined);
    expect(listOf([served("one"), remote("x"), served("two")])).to.equal(undefined);
    expect(listOf([served("one")], {}, "x".repeat(1_025))).to.equal(undefined);
    expect(listOf([served("one")], {}, "x".repeat(1_024))).to.not.equal(undefined);
  });
});

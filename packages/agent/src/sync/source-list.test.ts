import { expect } from "chai";
import { AgentError } from "../agent-error.js";
import { parseSources } from "./parse-sources.js";
import { ListPlace, parseSourceList, problemOfList } from "./source-list.js";

describe("--source-list", () => {
  it("names the text, its frame, and how many sources are around it", () => {
    expect(parseSourceList("shop/a , ops/b;featureflag:c@1f:2:1")).to.deep.equal({
      name: { namespace: "shop", text: "a , ops/b;featureflag:c" },
      frame: "1f",
      before: 2,
      after: 1,
    });
    expect(parseSourceList("")).to.equal(undefined);
  });

  it("is refused with a sentence if it is none", () => {
    for (const wrong of ["shop", "shop/a", "shop/a@1f", "/a@1f:0:0", "shop/a@xyz:0:0", "shop/a@1f:0:-1"])
      expect(() => parseSourceList(wrong)).to.throw(AgentError, "the operator writes NAMESPACE/TEXT@FRAME");
    expect(() => parseSourceList(`shop/${"x".repeat(1_025)}@1f:0:0`)).to.throw(AgentError, "1024 bytes");
  });
});

describe("ListPlace", () => {
  const grpc = (name: string, uri = "proxy:8015"): object => ({
    uri,
    provider: "grpc",
    selector: `core.openfeature.dev/shop/${name}`,
  });
  const file = { uri: "flags.json", provider: "file" };
  const configs = (...sources: readonly object[]): ReturnType<typeof parseSources> =>
    parseSources({ uris: [], sources: JSON.stringify(sources) });

  it("fills the place with other FeatureFlags of the same proxy, and moves what is behind", () => {
    const before = configs(file, grpc("a"), grpc("b"), file);
    const place = ListPlace.of(before, { before: 1, after: 1 });
    expect(place?.asking).to.equal(1);
    expect(place?.topicsOf(before)).to.deep.equal(["shop/a", "shop/b"]);
    expect(place?.filledWith(["shop/c", "shop/a", "ops/d"])).to.deep.equal(
      configs(file, grpc("c"), grpc("a"), { ...grpc("x"), selector: "core.openfeature.dev/ops/d" }, file),
    );
    expect(place?.filledWith(place.topicsOf(before))).to.deep.equal(before);
  });

  it("is none where there is something else", () => {
    const around = { before: 0, after: 0 };
    expect(ListPlace.of(configs(file), around)).to.equal(undefined);
    expect(ListPlace.of(configs(grpc("a"), file), around)).to.equal(undefined);
    expect(ListPlace.of(configs(grpc("a"), grpc("b", "other:8015")), around)).to.equal(undefined);
    expect(ListPlace.of(configs({ uri: "flagd:8015", provider: "grpc" }), around)).to.equal(undefined);
    expect(ListPlace.of(configs(grpc("a")), { before: 1, after: 0 })).to.equal(undefined);
    expect(ListPlace.of(configs(grpc("a")), { before: 0, after: 5 })).to.equal(undefined);
  });
});

describe("problemOfList", () => {
  it("takes a list of FeatureFlags, and no other", () => {
    expect(problemOfList({ topics: ["shop/a"] })).to.equal(undefined);
    expect(problemOfList({ topics: [] })).to.contain("no FeatureFlag");
    expect(problemOfList({ topics: ["shop/a", "b"] })).to.contain('"b"');
    const many = Array.from({ length: 129 }, (_, index) => `shop/f${index}`);
    expect(problemOfList({ topics: many })).to.contain("more than 128");
  });
});

import { expect } from "chai";
import { podRequest, requestAnnotations, requestParts } from "./pod-request.js";

const { source, flag, inProcess, order, orderResource, orderNamespace } = requestAnnotations;

describe("what a Pod asks for", () => {
  for (const [what, annotations, list, text, annotation] of [
    ["a FeatureFlagSource, as it is written", { [source]: " a, b/c" }, "sources", " a, b/c", source],
    ["a FeatureFlag", { [flag]: "a,b/c" }, "sources", ";featureflag:a,b/c", flag],
    ["both", { [source]: "a", [flag]: "b" }, "sources", "a;featureflag:b", source],
    ["a standing order", { [order]: "a/b" }, "sources", ";order:a/b", order],
    ["a standing order by its older name", { [orderResource]: "b" }, "sources", ";order:b", orderResource],
    [
      "the same with its namespace",
      { [orderResource]: "b", [orderNamespace]: "a" },
      "sources",
      ";order:a/b",
      orderResource,
    ],
    [
      "all of them, of which the first standing order counts",
      { [source]: "a", [flag]: "b", [order]: "c", [orderResource]: "d" },
      "sources",
      "a;featureflag:b;order:c",
      source,
    ],
    ["an InProcessConfiguration", { [inProcess]: "a" }, "inProcess", "a", inProcess],
    ["a FeatureFlag before that", { [inProcess]: "a", [flag]: "b" }, "sources", ";featureflag:b", flag],
  ] as const) {
    it(`is ${what}`, () => {
      expect(podRequest(annotations)).to.deep.equal({ list, text, annotation });
    });
  }

  it("is nothing without such an annotation, or with a namespace alone", () => {
    expect(podRequest({})).to.equal(undefined);
    expect(podRequest({ [orderNamespace]: "a" })).to.equal(undefined);
  });

  it("is read from its text again", () => {
    expect(requestParts("a,b/c")).to.deep.equal({ sources: "a,b/c" });
    expect(requestParts("")).to.deep.equal({ sources: "" });
    expect(requestParts(";featureflag:b")).to.deep.equal({ flags: "b" });
    expect(requestParts("a;featureflag:b;order:c")).to.deep.equal({ sources: "a", flags: "b", order: "c" });
    for (const text of ["a;b", ";", "a;featureflag:b;", ";featureflag"])
      expect(requestParts(text), text).to.equal(undefined);
  });
});

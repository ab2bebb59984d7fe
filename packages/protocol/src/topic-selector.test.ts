import { expect } from "chai";
import { ProtocolError } from "./protocol-error.js";
import {
  isFileTopicName,
  parseAnySelector,
  parsePrefixedSelector,
  parseTopicSelector,
} from "./topic-selector.js";

describe("parseTopicSelector", () => {
  it("reads both forms as the same topic", () => {
    expect(parseTopicSelector("core.openfeature.dev/demo/end-to-end")).to.equal("demo/end-to-end");
    expect(parseTopicSelector("demo/end-to-end")).to.equal("demo/end-to-end");
    expect(parseTopicSelector("demo/a.b.c")).to.equal("demo/a.b.c");
  });

  const refused = [
    "",
    "demo",
    "a/b/c",
    "core.openfeature.dev/demo",
    "core.openfeature.dev/core.openfeature.dev/a/b",
    "Demo/flags",
    "demo/flags,metadata.namespace=kube-system",
    "demo/../etc",
    `${"a".repeat(64)}/flags`,
    `demo/${"a".repeat(254)}`,
    "file:/etc/passwd",
    "flagSetId=x",
    "demo/naïve",
  ];
  for (const selector of refused) {
    it(`refuses ${JSON.stringify(selector.slice(0, 40))} and says the expected form`, () => {
      expect(() => parseTopicSelector(selector))
        .to.throw(ProtocolError, "expected core.openfeature.dev/<namespace>/<name> or <namespace>/<name>")
        .with.property("code", "SELECTOR_INVALID");
    });
  }

  it("quotes a hostile selector bounded and printable", () => {
    const { message } = (() => {
      try {
        return new Error(parseTopicSelector(`\u0000é${"x".repeat(10_000)}/a`));
      } catch (error) {
        return error as Error;
      }
    })();
    expect(message).to.match(/^[\p{L}\p{N}\p{P}\p{S} ]+$/u);
    expect(message.length).to.be.lessThan(400);
  });
});

describe("parsePrefixedSelector", () => {
  it("reads topics with and without the prefix of a cluster", () => {
    expect(parsePrefixedSelector("eu/demo/a.b")).to.deep.equal({ prefix: "eu/", topic: "demo/a.b" });
    expect(parsePrefixedSelector("core.openfeature.dev/eu/demo/a")).to.deep.equal({
      prefix: "eu/",
      topic: "demo/a",
    });
    expect(parsePrefixedSelector("demo/a")).to.deep.equal({ prefix: "", topic: "demo/a" });
  });

  for (const selector of ["", "a", "a/b/c/d", "EU/demo/a", "/demo/a", "eu/Demo/a"])
    it(`refuses ${JSON.stringify(selector)}`, () => {
      expect(() => parsePrefixedSelector(selector)).to.throw(ProtocolError);
    });
});

describe("isFileTopicName", () => {
  it("takes what files are called, and nothing that leads elsewhere or that a header can't hold", () => {
    for (const name of ["my_flags", "Product.v2", "flags (copy)", "a,b=c", "x".repeat(255)]) {
      expect(isFileTopicName(name), name).to.equal(true);
      expect(parseAnySelector(`default/${name}`)).to.equal(`default/${name}`);
    }
    for (const name of ["", ".", "..", "a/b", "../etc", " a", "a ", "a\0", "a\n", "naïve", "x".repeat(256)])
      expect(isFileTopicName(name), name).to.equal(false);
    expect(() => parseAnySelector("Demo/my_flags")).to.throw(ProtocolError);
  });
});

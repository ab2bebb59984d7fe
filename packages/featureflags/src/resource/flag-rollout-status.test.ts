import {
  atOnce,
  digestingDocument,
  emptyFlagDocument,
  encodeDocument,
  type FlagDocument,
} from "@bunting/protocol";
import { expect } from "chai";
import { gzipSync } from "node:zlib";
import { randomBytes } from "node:crypto";
import { decodeWhole, encodeWhole, readFlagRolloutStatus } from "./flag-rollout-status.js";
import { defaultedFlagRollout, flagRolloutDefaults, isGivenUp, rolloutAnnotations } from "./flag-rollout.js";

const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" };
const document: FlagDocument = { flags: { b: flag, a: flag, __proto__x: flag }, metadata: { set: "ü" } };

function stored(version: FlagDocument): { readonly digest: string; readonly document: string } {
  return { digest: atOnce(digestingDocument(version)), document: encodeWhole(version) ?? "" };
}

describe("the whole version in a status", () => {
  it("is read as it was written", () => {
    for (const each of [document, emptyFlagDocument]) {
      const read = decodeWhole(stored(each));
      expect(read && encodeDocument(read)).to.equal(encodeDocument(each));
    }
  });

  it("is not written where an object has no room for it, and read only up to what an object can have", () => {
    const noise = (bytes: number): FlagDocument => ({
      flags: { a: { ...flag, metadata: { noise: randomBytes(bytes).toString("base64") } } },
    });
    expect(encodeWhole(noise(600_000))).to.equal(undefined);
    expect(encodeWhole(noise(100_000))).to.be.a("string");
    const bomb = gzipSync(`{"flags":{}}${" ".repeat(5_000_000)}`).toString("base64");
    expect(decodeWhole({ ...stored(emptyFlagDocument), document: bomb })).to.equal(undefined);
  });

  it("is none where somebody has written something else", () => {
    for (const text of ["", "x", gzipSync("[]").toString("base64"), gzipSync("{").toString("base64")])
      expect(decodeWhole({ ...stored(document), document: text }), text).to.equal(undefined);
    const other = stored(emptyFlagDocument);
    expect(decodeWhole({ ...stored(document), document: other.document }), "other flags").to.equal(undefined);
  });
});

describe("the rollout in a status", () => {
  const whole = { digest: "aa", generation: 3, document: "x" };
  const status = {
    digest: "bb",
    phase: "Progressing",
    wave: 1,
    reach: 100,
    agents: 7,
    tried: 2,
    forgiven: 1,
    whole,
  };

  it("is read as it was written", () => {
    expect(readFlagRolloutStatus(status)).to.deep.equal(status);
    expect(readFlagRolloutStatus({ ...status, resumed: "x" })).to.include({ resumed: "x" });
  });

  it("is none where something that it needs is missing or of another kind", () => {
    for (const odd of [
      ...[undefined, null, [], "x", { ...status, phase: "Other" }, { ...status, reach: -1 }],
      { ...status, wave: "1" },
      { ...status, digest: 1 },
      { ...status, whole: undefined },
      { ...status, whole: { ...whole, generation: 0.5 } },
    ])
      expect(readFlagRolloutStatus(odd), JSON.stringify(odd)).to.equal(undefined);
  });
});

describe("spec.rollout", () => {
  it("has the defaults of the resource type where it says nothing", () => {
    expect(defaultedFlagRollout({})).to.deep.equal(flagRolloutDefaults);
    expect(defaultedFlagRollout({ waves: [5], paused: true })).to.deep.equal({
      ...{ waves: [5], observe: "60s", maxRefusing: 0, paused: true },
    });
  });

  it("gives up the version that the annotation names by the beginning of its digest, and no other", () => {
    const digest = "0123456789abcdef";
    const given = (text: string): boolean => isGivenUp({ [rolloutAnnotations.aborted]: text }, digest);
    expect([given("0123456789"), given(digest)]).to.deep.equal([true, true]);
    expect([given("0"), given(""), given("f123456789"), isGivenUp(undefined, digest)]).to.deep.equal(
      Array.from({ length: 4 }, () => false),
    );
  });
});

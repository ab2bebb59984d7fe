import type { ExtensionAnswer } from "@bunting/extension";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { AnswerCache } from "./answer-cache.js";

const object = { apiVersion: "v1", kind: "Service", metadata: { name: "a" } };
const replaced: ExtensionAnswer = { kind: "replaced", object };
const unchanged: ExtensionAnswer = { kind: "unchanged" };

describe("AnswerCache", () => {
  let clock: ManualClock;
  let cache: AnswerCache;
  beforeEach(() => {
    clock = new ManualClock();
    cache = new AnswerCache(clock);
  });

  it("has each answer as it was until its time is over", () => {
    cache.set("a", replaced, 1_000);
    cache.set("b", unchanged, 2_000);
    clock.advance(999);
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).to.deep.equal([replaced, unchanged, undefined]);
    clock.advance(1);
    expect([cache.get("a"), cache.get("b")]).to.deep.equal([undefined, unchanged]);
    clock.advance(1_000);
    expect(cache.get("b")).to.equal(undefined);
  });

  it("has the last answer to a question, of whatever kind", () => {
    for (const answer of [replaced, unchanged, replaced, unchanged]) {
      cache.set("a", answer, 1_000);
      expect(cache.get("a")).to.deep.equal(answer);
    }
  });

  it("gives each who asks an object of its own", () => {
    cache.set("a", replaced, 1_000);
    expect(cache.get("a")).not.to.equal(cache.get("a"));
  });

  it("forgets the oldest of more than there is room for", () => {
    const reason = "x".repeat(1_000_000);
    for (let number = 0; number < 9; number++)
      cache.set(`text ${number}`, { kind: "refused", reason }, 1_000);
    expect([cache.get("text 0"), cache.get("text 8")].map((each) => each?.kind)).to.deep.equal([
      undefined,
      "refused",
    ]);
    for (let number = 0; number <= 100_000; number++) cache.set(`same ${number}`, unchanged, 1_000);
    expect([cache.get("same 0"), cache.get("same 1")]).to.deep.equal([undefined, unchanged]);
    expect(cache.get("text 8")?.kind).to.equal("refused");
  });
});

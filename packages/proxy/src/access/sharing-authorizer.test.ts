import { ownNamespace, type Identity } from "@bunting/identity";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { setImmediate as nextTurn } from "node:timers/promises";
import { SharingAuthorizer } from "./sharing-authorizer.js";

const identity: Identity = { kind: "token", namespace: "shop", serviceAccount: "cart" };
const own = { namespace: "shop", name: "flags" };
const foreign = { namespace: "ops", name: "limits" };

describe("SharingAuthorizer", () => {
  let clock: ManualClock;
  let readers: ReadonlySet<string> | undefined | "unknown";
  let asked: string[];
  let authorizer: SharingAuthorizer;
  beforeEach(() => {
    clock = new ManualClock();
    readers = undefined;
    asked = [];
    authorizer = new SharingAuthorizer({
      authorizer: ownNamespace,
      readersOf: (topic) => {
        asked.push(topic);
        return readers;
      },
      clock,
    });
  });
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      await nextTurn();
      clock.advance(100);
    }
    await nextTurn();
  };

  it("decides with the readers that the source knows", () => {
    expect(authorizer.check(identity, foreign)).to.have.property("kind", "denied");
    readers = new Set(["shop/cart"]);
    expect(authorizer.check(identity, foreign)).to.deep.equal({ kind: "allowed" });
    expect(asked).to.deep.equal(["ops/limits", "ops/limits"]);
  });

  it("waits for a proxy that has just started to read them, but not where they do not matter", async () => {
    readers = "unknown";
    expect(authorizer.check(identity, own)).to.deep.equal({ kind: "allowed" });
    const decision = authorizer.check(identity, foreign);
    await advance(300);
    readers = new Set(["shop"]);
    await advance(100);
    expect(await decision).to.deep.equal({ kind: "allowed" });
  });

  it("is unavailable if they are not known in time: that is no denial", async () => {
    readers = "unknown";
    const decision = authorizer.check(identity, foreign);
    await advance(5_000);
    expect(await decision).to.have.property("kind", "unavailable");
    expect(authorizer.recheck(identity, foreign)).to.have.property("kind", "unavailable");
  });

  it("finds out on rechecks that a FeatureFlag is no longer shared", () => {
    readers = new Set(["shop"]);
    expect(authorizer.recheck(identity, foreign)).to.deep.equal({ kind: "allowed" });
    readers = undefined;
    expect(authorizer.recheck(identity, foreign)).to.have.property("kind", "denied");
  });

  it("does not look for readers of files", () => {
    expect(authorizer.check(identity, { namespace: "", name: "etc/passwd" })).to.have.property(
      "kind",
      "denied",
    );
    expect(asked).to.deep.equal([]);
  });
});

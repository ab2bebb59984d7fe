import { expect } from "chai";
import { FeatureFlagWatch, type StoredFeatureFlag } from "./feature-flag-watch.js";

type Flag = StoredFeatureFlag & { readonly spec?: { readonly rollout?: object | null } };

describe("the watch of FeatureFlags", () => {
  it("tells of rollouts for those that have spec.rollout, or had it, and of no other", () => {
    const told: string[] = [];
    const watch = new FeatureFlagWatch(() => undefined, { onRollout: (key) => told.push(key) });
    const see = (name: string, generation: number, rest: Omit<Flag, "metadata">): void => {
      const object: Flag = { metadata: { namespace: "shop", name, uid: "u", generation }, ...rest };
      watch.beginRead().add(object, `${generation}`);
      watch.event({ type: "MODIFIED", object, resourceVersion: `${generation}` });
    };
    for (const generation of [1, 2, 3]) {
      see("plain", generation, { spec: {}, status: { agents: { total: 9 }, flags: 1 } });
      see("null", generation, { spec: { rollout: null } });
    }
    expect(told, "whatever is edited, and whatever its status says").to.deep.equal([]);
    see("new", 1, { spec: { rollout: {} } });
    see("had", 1, { spec: {}, status: { rollout: {} } });
    expect(told).to.deep.equal(["shop/new", "shop/new", "shop/had", "shop/had"]);
    told.length = 0;
    const conditions = [{ type: "RolledOut", status: "False" as const, reason: "TooLarge", message: "" }];
    see("large", 1, { spec: {}, status: { conditions: conditions as never } });
    expect(told, "of one of which only a condition is left").to.deep.equal(["shop/large", "shop/large"]);
  });

  it("tells of rollouts once when their FeatureFlag is gone, also while nobody watched", () => {
    const told: string[] = [];
    const watch = new FeatureFlagWatch(() => undefined, { onRollout: (key) => told.push(key) });
    const object = (name: string, rollout: object | undefined): Flag => ({
      metadata: { namespace: "shop", name, uid: "u", generation: 1 },
      spec: rollout === undefined ? {} : { rollout },
    });
    const first = watch.beginRead();
    for (const name of ["a", "b", "c"]) first.add(object(name, {}), "1");
    first.add(object("plain", undefined), "1");
    first.complete("1", 1);
    told.length = 0;
    for (const name of ["a", "a", "plain"])
      watch.event({ type: "DELETED", object: object(name, {}), resourceVersion: "2" });
    expect(told).to.deep.equal(["shop/a"]);
    const again = watch.beginRead();
    again.add(object("b", undefined), "3");
    again.complete("3", 1);
    expect(told).to.deep.equal(["shop/a", "shop/c"]);
  });

  it("has one checked whose generation comes again after a restore of etcd, where its status is about an earlier one", () => {
    const unchecked: string[] = [];
    const watch = new FeatureFlagWatch((key) => unchecked.push(key));
    const flag = (generation: number, observedGeneration: number): Flag => {
      const accepted = { type: "Accepted", status: "True" as const, reason: "Accepted", observedGeneration };
      const conditions = [accepted] as unknown as NonNullable<Flag["status"]>["conditions"];
      return {
        metadata: { namespace: "shop", name: "a", uid: "u", generation },
        status: { conditions },
      } as Flag;
    };
    watch.event({ type: "ADDED", object: flag(2, 1), resourceVersion: "9" });
    watch.event({ type: "MODIFIED", object: flag(2, 1), resourceVersion: "10" });
    watch.beginRead().add(flag(2, 2), "11");
    expect(unchecked, "once, whatever else is written of it").to.deep.equal(["shop/a"]);
    watch.beginRead().add(flag(2, 1), "5");
    expect(unchecked).to.deep.equal(["shop/a", "shop/a"]);
  });
});

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
  });
});

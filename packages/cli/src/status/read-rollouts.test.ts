import { atOnce, digestingDocument } from "@bunting/protocol";
import { expect } from "chai";
import type { ClusterAnswer } from "../operator/cluster-reader.js";
import { rolloutLines } from "../rollout/rollout-lines.js";
import type { RolledOutObject } from "../rollout/rollout-state.js";
import { asProxyStatus } from "./proxy-status.js";
import { readRollouts, rolledOutTopics } from "./read-rollouts.js";

const flagSpec = { flags: {} };
const digest = atOnce(digestingDocument(flagSpec));

function object(name: string, phase: string, wave = 1): RolledOutObject {
  const whole = { digest: "0".repeat(64), generation: 1, document: "" };
  return {
    metadata: { namespace: "shop", name },
    spec: { flagSpec, rollout: {} },
    status: { rollout: { digest, phase, wave, reach: 100, agents: 9, forgiven: 0, whole } },
  };
}

describe("the rollouts that bunting status shows", () => {
  it("are those of FeatureFlags of which a proxy has a version that not all agents are to have, each once", () => {
    const status = asProxyStatus({
      topics: [{ topic: "shop/a", trial: { digest } }, { topic: "shop/b" }, { topic: "shop/c", trial: {} }],
    });
    expect(rolledOutTopics([status, status])).to.deep.equal(["shop/a", "shop/c"]);
  });

  it("are paused, under way or stopped, with their wave, and none that can't be read or has ended", async () => {
    const unreadable = { ...object("unreadable", "Halted"), spec: { flagSpec: 1, rollout: {} } };
    const objects = [
      ...[object("paused", "Paused", 0), object("going", "Progressing"), object("halted", "Halted", 2)],
      ...[object("aborted", "Aborted"), object("whole", "Whole"), unreadable as unknown as RolledOutObject],
    ];
    const find = ({ name }: { readonly name: string }): Promise<ClusterAnswer<RolledOutObject>> => {
      const found = objects.find(({ metadata }) => metadata.name === name);
      if (name === "secret") return Promise.resolve({ kind: "unreadable", message: "no" });
      return Promise.resolve(found === undefined ? { kind: "missing" } : { kind: "found", found });
    };
    const names = [...objects.map(({ metadata }) => metadata.name), "secret", "gone"];
    const topics = [...names.map((name) => `shop/${name}`), "file:flags.json"];
    const shown = (await readRollouts(topics, { find })).map((state) => rolloutLines(state)[0]);
    expect(shown).to.deep.equal([
      `shop/paused ${digest.slice(0, 12)}: Paused, before the first wave`,
      `shop/going ${digest.slice(0, 12)}: Progressing, wave 1 of 3, 1 % of the agents`,
      `shop/halted ${digest.slice(0, 12)}: Halted, wave 2 of 3, 10 % of the agents`,
      `shop/aborted ${digest.slice(0, 12)}: Aborted`,
    ]);
  });
});

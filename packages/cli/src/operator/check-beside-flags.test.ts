import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { checkBesideFlags } from "./check-beside-flags.js";

const places = (spec: JsonObject): readonly string[] =>
  checkBesideFlags(spec).map(({ severity, kind, path }) => `${severity} ${kind} ${path.join(".")}`);
const provider = { type: "http", uri: "https://flags.example/shop.json" };

describe("checkBesideFlags", () => {
  it("finds nothing in what the API server takes", () => {
    for (const rollout of [
      {},
      null,
      { waves: [] },
      { waves: [50, 1, 99], observe: "24h", maxRefusing: 3, paused: true },
      { waves: null, observe: "0s", maxRefusing: null, paused: null },
    ])
      expect(places({ rollout }), JSON.stringify(rollout)).to.deep.equal([]);
    for (const interval of ["5s", "90s", "24h", null])
      expect(places({ remoteFlagProvider: { ...provider, interval } }), String(interval)).to.deep.equal([]);
    expect(places({ rollout: null, remoteFlagProvider: provider })).to.deep.equal([]);
  });

  it("finds waves that are no percentages, come twice, or are too many", () => {
    for (const [waves, ...where] of [
      [10, "waves"],
      [[0, 100, 1.5, "10%"], "waves.0", "waves.1", "waves.2", "waves.3"],
      [[1, 10, 1], "waves.2"],
      [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "waves"],
    ] as const)
      expect(places({ rollout: { waves } }), JSON.stringify(waves)).to.deep.equal(
        where.map((field) => `error rollout spec.rollout.${field}`),
      );
  });

  it("finds times, numbers and switches of a rollout that the API server refuses", () => {
    for (const observe of ["1m30s", "25h", "60", 60, "-1s", "1d"])
      expect(places({ rollout: { observe } }), String(observe)).to.deep.equal([
        "error rollout spec.rollout.observe",
      ]);
    expect(places({ rollout: { maxRefusing: -1, paused: "no" } })).to.deep.equal([
      "error rollout spec.rollout.maxRefusing",
      "error rollout spec.rollout.paused",
    ]);
    expect(places({ rollout: [1, 10] })).to.deep.equal(["error rollout spec.rollout"]);
  });

  it("finds a rollout beside a remote, which exclude each other", () => {
    expect(places({ rollout: {}, remoteFlagProvider: provider })).to.deep.equal([
      "error rollout spec.rollout",
    ]);
  });

  it("finds remotes that the proxy would not ask, and those that it asks and no API server stores", () => {
    expect(places({ remoteFlagProvider: { type: "http" } })).to.deep.equal([
      "error remote spec.remoteFlagProvider.uri",
    ]);
    const remoteFlagProvider = { ...provider, uri: "HTTPS://flags.example/", interval: "1m30s" };
    expect(places({ remoteFlagProvider })).to.deep.equal([
      "error remote spec.remoteFlagProvider.interval",
      "error remote spec.remoteFlagProvider.uri",
    ]);
  });
});

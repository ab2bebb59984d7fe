import { expect } from "chai";
import { flagAgents } from "./flag-agents.js";
import { toldStamp, toldByFlag, type TopicAgents } from "./told-agents.js";

const stored = { uid: "u", generation: 4 };
const proxy = (change: Partial<TopicAgents> = {}): TopicAgents => ({
  topic: "shop/checkout",
  uid: "u",
  generation: 4,
  subscribers: 3,
  current: 3,
  refusing: 0,
  ...change,
});

describe("the agents of a FeatureFlag", () => {
  for (const [what, told, counts, verdicts] of [
    ["are none if no proxy tells of any", [], [0, 0, 0], ["True NoAgents", "True NoAgents"]],
    [
      "are none if a proxy tells of it, and nobody asks",
      [proxy({ subscribers: 0, current: 0, generation: 2 })],
      [0, 0, 0],
      ["True NoAgents", "True NoAgents"],
    ],
    ["are those of all proxies", [proxy(), proxy()], [6, 6, 0], ["True Served", "True AllCurrent"]],
    [
      "are behind while one has not what its proxy serves",
      [proxy(), proxy({ current: 1 })],
      [6, 4, 0],
      ["True Served", "False AgentsBehind"],
    ],
    [
      "are behind while their proxy serves an older generation, whatever they have of that",
      [proxy(), proxy({ generation: 3 })],
      [6, 3, 0],
      ["False NotServedYet", "False AgentsBehind"],
    ],
    [
      "are behind while their proxy serves an object of the name that was deleted",
      [proxy({ uid: "former", generation: 9 })],
      [3, 0, 0],
      ["False NotServedYet", "False AgentsBehind"],
    ],
    [
      "are behind while their proxy serves nothing",
      [{ topic: "shop/checkout", subscribers: 2, current: 0, refusing: 0 }],
      [2, 0, 0],
      ["False NotServedYet", "False AgentsBehind"],
    ],
    [
      "count as current if a proxy has a newer generation than was read of the object",
      [proxy({ generation: 5 })],
      [3, 3, 0],
      ["True Served", "True AllCurrent"],
    ],
    [
      "have not converged while some refuse a flag",
      [proxy({ refusing: 1 }), proxy()],
      [6, 6, 1],
      ["True Served", "False AgentsRefuse"],
    ],
    [
      "are told of a proxy that can't ask for changes",
      [proxy({ stale: true })],
      [3, 3, 0],
      ["True Stale", "True AllCurrent"],
    ],
    [
      "are told of a proxy that refuses the newest, with its reason",
      [proxy({ generation: 3, stale: true, refused: "flag f has no variants" })],
      [3, 0, 0],
      ["False Refused", "False AgentsBehind"],
    ],
  ] as const) {
    it(what, () => {
      const agents = flagAgents(stored, told);
      expect(Object.values(agents.counts)).to.deep.equal(counts);
      expect(agents.verdicts.map(({ status, reason }) => `${status} ${reason}`)).to.deep.equal(verdicts);
      expect(agents.verdicts.map(({ type }) => type)).to.deep.equal(["Served", "Converged"]);
    });
  }

  it("are told in sentences with their numbers, and a proxy's reason is cut", () => {
    const sentences = (told: readonly TopicAgents[]): string[] =>
      flagAgents(stored, told).verdicts.map(({ message }) => message);
    expect(sentences([proxy({ current: 1 })])[1]).to.equal("1 of 3 agents have it.");
    expect(sentences([proxy({ refusing: 2 })])[1]).to.include("2 can't serve some of its flags");
    expect(sentences([proxy({ generation: 3 })])[0]).to.include("generation 4");
    const [served = ""] = sentences([proxy({ refused: "x".repeat(9_000) })]);
    expect(served).to.include("xxx").and.have.length.lessThan(1_100);
  });

  it("does not claim that something is served where nothing was before what is refused", () => {
    const refused = {
      topic: "shop/checkout",
      subscribers: 1,
      current: 0,
      refusing: 0,
      refused: "no variants",
    };
    const [served] = flagAgents(stored, [refused]).verdicts;
    expect(served?.message).to.contain(
      "serves what was before, if anything, because it refuses this: no variants",
    );
  });
});

describe("what proxies tell", () => {
  it("is kept by FeatureFlag, and other topics are left out", () => {
    const one = proxy();
    const other = proxy({ topic: "shop/other" });
    const told = toldByFlag([[one, other], [one, proxy({ topic: "file.json" })], []]);
    expect([...told]).to.deep.equal([
      ["shop/checkout", [one, one]],
      ["shop/other", [other]],
    ]);
    const elsewhere = proxy({ topic: "team/checkout" });
    expect([...toldByFlag([[one, elsewhere]], ["shop"]).keys()]).to.deep.equal(["shop/checkout"]);
  });

  it("has a stamp in which comers and goers are told from news", () => {
    const before = toldStamp([proxy(), proxy({ subscribers: 5, current: 5 })]);
    const sameVersions = (told: readonly TopicAgents[]): boolean =>
      toldStamp(told).versions === before.versions;
    expect(toldStamp([proxy({ subscribers: 5, current: 5 }), proxy()])).to.deep.equal(before);
    const fewer = [proxy(), proxy({ subscribers: 4, current: 4 })];
    expect(sameVersions(fewer)).to.equal(true);
    expect(toldStamp(fewer).counts).to.not.equal(before.counts);
    for (const change of [
      { generation: 5 },
      { uid: "v" },
      { current: 2 },
      { refusing: 1 },
      { stale: true },
      { refused: "no" },
    ] as const)
      expect(sameVersions([proxy(change), proxy()]), JSON.stringify(change)).to.equal(false);
  });
});

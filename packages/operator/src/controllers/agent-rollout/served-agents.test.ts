import { expect } from "chai";
import { newImage, oldImage, podOf } from "../../upgrade/fleet.fixture.js";
import type { AgentRecord } from "../../upgrade/agent-record.js";
import type { PodChange } from "../../upgrade/agent-step.js";
import type { FleetAgent, FleetPod } from "../../upgrade/fleet.js";
import type { AgentsOfAddress } from "@bunting/protocol";
import type { ToldAddresses } from "../agents/told-addresses.js";
import { ServedAgents } from "./served-agents.js";

const signal = new AbortController().signal;
const record: AgentRecord = {
  ...{ rollout: "r", image: newImage, state: "updating", imageID: "id", restarts: 0 },
  ...{ atMs: 0, begunMs: 0, sinceMs: 0 },
};

describe("ServedAgents", () => {
  let told: ToldAddresses;
  let asked: (readonly string[])[];
  beforeEach(() => {
    asked = [];
  });
  const useAgents = (): ServedAgents =>
    new ServedAgents({
      readOf: (addresses) => {
        asked.push(addresses);
        return Promise.resolve(told);
      },
    });
  const tell = (...agents: readonly AgentsOfAddress[]): void => {
    told = { kind: "told", agents: new Map(agents.map((each) => [each.address, each])) };
  };
  const has = (address: string, subscriptions: number, current: number): AgentsOfAddress => ({
    ...{ address, subscriptions, current },
  });
  const underWay = (name: string, of: Partial<AgentRecord>, addresses = [`ip-of-${name}`]): FleetPod =>
    podOf(name, { record: { ...record, ...of } }, { addresses });
  const servedOf = async (agents: ServedAgents, ...pods: readonly FleetPod[]) =>
    (await agents.told(pods, signal)).map(({ agent }) => agent?.served);
  const begun = (name: string): PodChange => ({
    pod: podOf(name),
    image: newImage,
    previous: oldImage,
    record,
  });

  it("asks for those that have to prove themselves, and for no others", async () => {
    tell(has("ip-of-a", 1, 1), has("ip-of-b", 2, 1));
    const had = { isServed: true };
    const others = [
      podOf("c"),
      underWay("d", {}),
      underWay("e", { ...had, state: "updated" }),
      underWay("f", { ...had, state: "failing" }),
    ];
    const pods = [underWay("a", had), underWay("b", { ...had, state: "observing" }), ...others];
    expect(await servedOf(useAgents(), ...pods)).to.deep.equal([
      "current",
      "behind",
      ...others.map(() => undefined),
    ]);
    expect(asked.splice(0)).to.deep.equal([["ip-of-a", "ip-of-b"]]);
    await servedOf(useAgents(), ...others);
    expect(asked).to.deep.equal([]);
  });

  const cases: readonly (readonly [
    what: string,
    of: readonly AgentsOfAddress[],
    served: FleetAgent["served"],
  ])[] = [
    ["has subscriptions from one of its addresses, all current", [has("1", 0, 0), has("2", 1, 1)], "current"],
    ["has none", [has("1", 0, 0), has("2", 0, 0)], "behind"],
    ["is behind with one of them", [has("1", 1, 1), has("2", 1, 0)], "behind"],
  ];
  for (const [what, of, served] of cases)
    it(`calls a Pod ${served} that ${what}`, async () => {
      tell(...of);
      const pod = underWay("a", { isServed: true }, ["1", "2"]);
      expect(await servedOf(useAgents(), pod)).to.deep.equal([served]);
    });

  it("notes of what is begun whether it has what is served, and leaves other changes as they are", async () => {
    tell(has("ip-of-a", 1, 1), has("ip-of-b", 0, 0));
    const step: PodChange = { pod: podOf("c"), image: newImage, record: { ...record, state: "updated" } };
    const changes = await useAgents().noted([begun("a"), begun("b"), step], signal);
    expect(changes).to.deep.equal([
      { ...begun("a"), record: { ...record, isServed: true } },
      begun("b"),
      step,
    ]);
  });

  it("begins nothing while that is unknown, and asks on until it is known", async () => {
    const agents = useAgents();
    told = { kind: "unknown" };
    const step: PodChange = { pod: podOf("c"), image: newImage, record };
    expect(await agents.noted([begun("a"), step], signal)).to.deep.equal([step]);
    expect(agents.isUnknown).to.equal(true);
    expect(await servedOf(agents, underWay("a", { isServed: true }))).to.deep.equal(["unknown"]);
    tell();
    await servedOf(agents, podOf("a"));
    expect(agents.isUnknown).to.equal(false);
    asked = [];
    await servedOf(agents, podOf("a"));
    expect(asked).to.deep.equal([]);
  });

  it("expects nothing where nobody can say it", async () => {
    told = { kind: "silent" };
    for (const agents of [useAgents(), new ServedAgents(undefined)]) {
      expect(await agents.noted([begun("a")], signal)).to.deep.equal([begun("a")]);
      expect(await servedOf(agents, underWay("a", { isServed: true }))).to.deep.equal([undefined]);
      expect(agents.isUnknown).to.equal(false);
    }
  });
});

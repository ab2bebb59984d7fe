import { expect } from "chai";
import { agentStates, formatRecord, isInFlight, parseRecord, type AgentRecord } from "./agent-record.js";
import { without } from "./fleet.fixture.js";

describe("the record of a rollout on a Pod", () => {
  const record: AgentRecord = {
    ...{ rollout: "uid", image: "registry.example/agent:2", state: "failing" },
    ...{ atMs: 1_700_000_000_123, begunMs: 1_700_000_000_100, sinceMs: 1_700_000_000_000 },
    ...{ imageID: "id", restarts: 3, why: "It broke." },
  };

  it("is read as it was written", () => {
    expect(parseRecord(formatRecord(record))).to.deep.equal(record);
    const served = { ...record, isServed: true };
    expect(parseRecord(formatRecord(served))).to.deep.equal(served);
    const silent = without(record, "why");
    expect(parseRecord(formatRecord(silent))).to.deep.equal(silent);
    const long = formatRecord({ ...record, why: "x".repeat(10_000) });
    expect(parseRecord(long)?.why).to.have.lengthOf(256);
    const hostile = formatRecord({ ...record, why: "It broke.\n\u001b[2Jall is well" });
    expect(parseRecord(hostile)?.why, "of whoever may edit the Pod").to.equal("It broke. ?[2Jall is well");
  });

  it("is none where somebody has written something else", () => {
    const text = formatRecord(record);
    for (const odd of [
      ...[undefined, "", "null", "[]", "7", "{", `${text}${" ".repeat(5_000)}`],
      text.replace("failing", "other"),
      text.replace(/"at":"[^"]*"/, '"at":"never"'),
      ...["rollout", "image", "state", "at", "begun", "since", "imageID", "restarts"].map((field) =>
        text.replace(`"${field}"`, '"x"'),
      ),
    ])
      expect(parseRecord(odd), odd).to.equal(undefined);
  });

  it("says in which states a Pod is under way", () => {
    expect(agentStates.filter((state) => isInFlight({ ...record, state }))).to.deep.equal([
      ...["updating", "observing", "failing", "reverting"],
    ]);
    expect(isInFlight(undefined)).to.equal(false);
  });
});

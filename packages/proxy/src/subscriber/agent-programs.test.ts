import { expect } from "chai";
import { AgentPrograms } from "./agent-programs.js";

describe("AgentPrograms", () => {
  it("counts the streams of each program, and forgets those without", () => {
    const programs = new AgentPrograms();
    const first = programs.enter("bunting-agent/1");
    programs.enter("bunting-agent/2");
    expect(programs.enter("bunting-agent/1")).to.equal(first);
    programs.leave(first);
    expect([...programs.all]).to.deep.equal([
      { name: "bunting-agent/1", streams: 1 },
      { name: "bunting-agent/2", streams: 1 },
    ]);
    programs.leave(first);
    expect([...programs.all].map(({ name }) => name)).to.deep.equal(["bunting-agent/2"]);
  });

  it("keeps a bounded number of names, of bounded length, whatever agents say", () => {
    const programs = new AgentPrograms();
    const entered = Array.from({ length: 1_000 }, (_, index) =>
      programs.enter(`${index} ${"x".repeat(200)}`),
    );
    const all = [...programs.all];
    expect(all).to.have.lengthOf(33);
    expect(all.at(-1)).to.deep.equal({ name: "other programs", streams: 968 });
    expect(Math.max(...all.map(({ name }) => name.length))).to.equal(64);
    for (const program of entered) programs.leave(program);
    expect([...programs.all]).to.deep.equal([]);
  });
});

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { eventually } from "../test/support/event-queue.js";
import { parseStages, Stages, stageTable, type StageResult } from "./stages.js";

describe("stages of the gate", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-stages-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  async function run(
    table: string,
  ): Promise<{ readonly results: readonly StageResult[]; readonly order: string[] }> {
    const order: string[] = [];
    const stages = new Stages(parseStages(table), path.join(directory, "stages"));
    const results = await stages.run(({ stage }) => order.push(stage.name));
    return { results, order };
  }

  it("wait for those they name, also if these fail, and run beside all others", async () => {
    const { results } = await run(`
      # Each of the first two ends only once the other has started.
      a |   | 0 | touch ${directory}/a; until [ -e ${directory}/b ]; do sleep 0.02; done
      b |   | 5 | touch ${directory}/b; until [ -e ${directory}/a ]; do sleep 0.02; done; exit 3
      c | b | 0 | echo after b`);
    const [a, b, c] = results;
    expect([a?.code, b?.code, c?.code]).to.deep.equal([0, 3, 0]);
    expect(c?.startedMs).to.be.at.least(b?.endedMs ?? Number.NaN);
    expect(c?.output).to.equal("after b\n");
  });

  it("are told of in the order of the table, with all they have printed", async () => {
    const { order, results } = await run(`
      slow | | 0 | until [ -e ${directory}/done ]; do sleep 0.02; done; echo out; echo err >&2
      fast | | 0 | false || echo first | tr f F; touch ${directory}/done`);
    expect(order).to.deep.equal(["slow", "fast"]);
    expect(results.map(({ output }) => output)).to.deep.equal(["out\nerr\n", "First\n"]);
  });

  it("give way to others by as much as they say, also where Linux shares its processors out among sessions", async function () {
    if (!existsSync("/proc/self/autogroup")) this.skip();
    const { results } = await run("lint | | 7 | nice; cat /proc/self/autogroup");
    const [nice, group] = results[0]?.output.split("\n") ?? [];
    expect(nice).to.equal(String(Math.min(19, getPriority() + 7)));
    expect(group).to.match(/ nice 7$/);
  });

  it("fail if a signal ends them", async () => {
    const { results } = await run("killed | | 0 | kill -9 $$");
    expect(results[0]?.code).to.equal(1);
  });

  it("fail where they are abandoned: what runs is ended, with what it has printed, and nothing else starts", async () => {
    const table = `
      hangs | | 0 | echo begun; touch ${directory}/begun; sleep 1000
      later | hangs | 0 | echo never`;
    const stages = new Stages(parseStages(table), path.join(directory, "stages"));
    const run = stages.run(() => undefined);
    await eventually(() => existsSync(path.join(directory, "begun")), "the first stage");
    stages.abandon("it took too long");
    const results = await run;
    expect(results.map(({ code, output }) => [code, output])).to.deep.equal([
      [1, "begun\n"],
      [1, "not started: it took too long\n"],
    ]);
  });

  it("end with a table of their minutes, in which failures are seen", async () => {
    const { results } = await run("fine | | 0 | true\nlonger-name | | 0 | false");
    expect(stageTable(results).slice(1)).to.deep.equal([
      "  fine          0.0 to  0.0:  0.0, computed  0.0",
      "  longer-name   0.0 to  0.0:  0.0, computed  0.0  FAILED",
      "computed in all:  0.0",
    ]);
  });

  it("say how long their processes computed", async () => {
    const { results } = await run(
      "computes | | 0 | sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'",
    );
    expect(results[0]?.cpuMs).to.be.greaterThan(0);
    const minute = results.map((result) => ({ ...result, cpuMs: 90_000 }));
    expect(stageTable(minute).at(-1)).to.equal("computed in all:  1.5");
  });

  it("are refused if one waits for what is not above it, or is none", () => {
    expect(() => parseStages("a | b | 0 | true\nb | | 0 | true")).to.throw(
      "the stage a waits for b: there is no such stage above it",
    );
    expect(() => parseStages("a | 0 | true")).to.throw("is no stage: write name | after | nice | command");
    expect(() => parseStages("a | | 0 | true\na | | 0 | true")).to.throw("there are two stages a");
  });
});

import { expect } from "chai";
import { startAgent, isReady } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";

const repeated = (count: number, text: string): string => Array<string>(count).fill(text).join(",");

describe("documents that are small, and whose answers are not", () => {
  let directory: TempDirectory;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
    directory.remove();
  });

  const serve = async (document: string) => {
    directory.replace("flags.json", document);
    const agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
    cleanUps.push(() => agent.process.stop("SIGKILL"));
    await eventually(() => isReady(agent.management), "/readyz");
    return agent;
  };
  const flag = (value: string): string =>
    `{"state":"ENABLED","variants":{"a":${value}},"defaultVariant":"a"}`;
  const post = (url: string): Promise<Response> =>
    fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });

  it("are refused where each flag of a bulk answer repeats much metadata, and single flags are answered", async () => {
    const flags = Array.from({ length: 5_000 }, (_, index) => `"f${index}":${flag("1")}`);
    const metadata = Array.from({ length: 150 }, (_, index) => `"m${index}":"v"`);
    const agent = await serve(`{"flags":{${flags.join(",")}},"metadata":{${metadata.join(",")}}}`);
    const bulk = await post(`${agent.ofrep}/ofrep/v1/evaluate/flags`);
    expect(bulk.status).to.equal(500);
    expect(await bulk.text()).to.contain("The answer is larger than");
    for (const type of ["json", "proto"]) {
      const all = await fetch(`http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveAll`, {
        method: "POST",
        body: type === "json" ? "{}" : "",
        headers: { "content-type": `application/${type}` },
      });
      expect(await all.text())
        .to.contain("The answer is larger than")
        .and.contain("resource_exhausted");
    }
    const one = await post(`${agent.ofrep}/ofrep/v1/evaluate/flags/f0`);
    expect(await one.json()).to.include({ value: 1 });
    const refused = 'bunting_agent_api_requests_refused_total{reason="answer_size"}';
    expect(await readMetric(agent.management, refused), "OFREP, Connect with JSON and protobuf").to.equal(3);
  });

  it("are refused where each flag has a copy of much metadata", async () => {
    const own = (index: number): string =>
      `"f${index}":{"state":"ENABLED","variants":{"a":1},"defaultVariant":"a","metadata":{"own":1}}`;
    const metadata = Array.from({ length: 500 }, (_, index) => `"m${index}":"v"`);
    const agent = await serve(`{"flags":{"good":${flag('"served"')}}}`);
    const flags = Array.from({ length: 5_000 }, (_, index) => own(index));
    directory.replace("flags.json", `{"flags":{${flags.join(",")}},"metadata":{${metadata.join(",")}}}`);
    await agent.process.nextLog("a flag document was refused; the previous flags are still served");
    const good = await post(`${agent.ofrep}/ofrep/v1/evaluate/flags/good`);
    expect(await good.json()).to.include({ value: "served" });
  });

  for (const [name, value] of [
    ["a list", `[${repeated(600_000, "0.5")}]`],
    ["an object", `{"k":[${repeated(650_000, "1")}]}`],
  ] as const) {
    it(`are answered where a value is ${name} of many numbers`, async () => {
      const agent = await serve(`{"flags":{"good":${flag('"served"')},"large":${flag(value)}}}`);
      const large = await post(`${agent.ofrep}/ofrep/v1/evaluate/flags/large`);
      expect(large.status).to.equal(200);
      expect(await large.text()).to.contain(value);
      const good = await post(`${agent.ofrep}/ofrep/v1/evaluate/flags/good`);
      expect(await good.json()).to.include({ value: "served" });
    });
  }
});

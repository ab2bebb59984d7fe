import { expect } from "chai";
import { startAgent, isReady } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
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

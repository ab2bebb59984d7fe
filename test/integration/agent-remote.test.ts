import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { HttpServer } from "../support/http-server.js";
import { TempDirectory } from "../support/temp-directory.js";

function flagsOf(...keys: readonly string[]): string {
  const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
  return JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) });
}

/** With the heap of the image, of which little is left for documents. */
describe("an agent in its container, with a remote", function () {
  this.timeout(60_000);
  const directory = new TempDirectory();
  const remote = new HttpServer();
  let agent: AgentProcess;
  before(async () => {
    directory.replace("own.json", flagsOf("own"));
    const uri = `${await remote.start()}/flags.json`;
    remote.answer = (_request, response) => void response.end(flagsOf("far"));
    const source = { provider: "remote", type: "http", uri, base: directory.file("own.json"), interval: 5 };
    const hosts = `http://127.0.0.1:${remote.port}=127.0.0.1`;
    agent = await startAgent(["--remote-hosts", hosts, "--sources", JSON.stringify([source])]);
  });
  after(async () => {
    await agent.process.stop();
    await remote.stop();
    directory.remove();
  });

  it("serves the flags of both", async () => {
    const isServed = async (key: string): Promise<boolean> => {
      const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
      return (await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/${key}`, request)).status === 200;
    };
    await eventually(() => isServed("far"), "the remote's flag");
    expect(await isServed("own")).to.equal(true);
  });
});

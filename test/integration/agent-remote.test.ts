import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { HttpServer } from "../support/http-server.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

function flagsOf(...keys: readonly string[]): string {
  const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
  return JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) });
}

/** With the heap of the image, of which little is left for documents. */
describe("an agent in its container, with remotes", function () {
  this.timeout(60_000);
  const directory = new TempDirectory();
  const remote = new HttpServer();
  const far = new TempDirectory();
  let proxy: ProxyProcess;
  let agent: AgentProcess;
  before(async () => {
    directory.replace("own.json", flagsOf("own"));
    far.replace("flags.json", flagsOf("over-grpc"));
    proxy = await startProxy(far.path);
    const uri = `${await remote.start()}/flags.json`;
    remote.answer = (_request, response) => void response.end(flagsOf("over-http"));
    const common = { provider: "remote", base: directory.file("own.json"), interval: 5 };
    const sources = [
      { ...common, type: "http", uri },
      { ...common, type: "grpc", uri: `grpc://${proxy.sync}`, selector: "default/flags" },
    ];
    const hosts = [remote.port, portOf(proxy)].map((port) => `http://127.0.0.1:${port}=127.0.0.1`).join(",");
    agent = await startAgent(["--remote-hosts", hosts, "--sources", JSON.stringify(sources)]);
  });
  after(async () => {
    await agent.process.stop();
    await proxy.process.stop();
    await remote.stop();
    directory.remove();
    far.remove();
  });

  it("serves the flags of all, over HTTP and gRPC", async () => {
    const isServed = async (key: string): Promise<boolean> => {
      const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
      return (await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/${key}`, request)).status === 200;
    };
    await eventually(() => isServed("over-http"), "the flag of the remote over HTTP");
    await eventually(() => isServed("over-grpc"), "the flag of the remote over gRPC");
    expect(await isServed("own")).to.equal(true);
  });
});

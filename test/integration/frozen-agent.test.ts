import { expect } from "chai";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What a proxy closes connections by whose peer is silent: later than it reads an edit, or the agent would leave with the newest version. */
const quickly = ["--keepalive-interval", "3s", "--keepalive-timeout", "2s"];
const leftBehind = "bunting_proxy_subscriber_left_behind";

/** A process that is stopped, as by a debugger or a node under pressure: the kernel keeps its connections and answers for them. */
describe("an agent that is frozen by SIGSTOP", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let agents: readonly AgentProcess[];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, quickly);
    agents = await Promise.all([1, 2].map(() => startAgent(proxySources(proxy.sync, "default/flags"))));
    for (const { management } of agents) await eventually(() => isReady(management), "the agent is ready");
  });
  afterEach(async () => {
    for (const { process } of agents) {
      process.child.kill("SIGCONT");
      await process.stop("SIGKILL");
    }
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  const status = async (): Promise<string> =>
    (await runBunting(["status", "--address", new URL(proxy.management).host])).out;
  const serves = (agent: AgentProcess, variant: string): Promise<void> =>
    eventually(async () => {
      const url = `${agent.ofrep}/ofrep/v1/evaluate/flags/on-off`;
      const response = await fetch(url, { method: "POST", headers: { connection: "close" } });
      return (await response.text()).includes(`"variant":"${variant}"`);
    }, `the agent answers ${variant}`);

  it("is named by bunting status, the log and a metric as left behind, until it has come back", async () => {
    const [frozen, other] = agents;
    if (frozen === undefined || other === undefined) throw new Error("two agents are needed");
    frozen.process.child.kill("SIGSTOP");
    directory.replace("flags.yaml", manifest("flags", 2));
    await serves(other, "off");
    const line = await proxy.process.nextLog("a subscriber has gone without the newest flags");
    expect(line).to.include({ level: "warn" });
    expect(JSON.stringify(line)).to.contain("default/flags").and.contain("127.0.0.1");
    expect(await readMetric(proxy.management, leftBehind)).to.equal(1);

    const behind = await status();
    expect(behind).to.contain("1 left behind");
    expect(behind).to.match(/127\.0\.0\.1 +bunting-agent\S* +default\/flags +[0-9a-f]{8} +1 .*gone for \d/);
    expect(
      (await runBunting(["status", "--address", new URL(proxy.management).host, "--only", "left"])).out,
    ).to.contain("gone for");

    frozen.process.child.kill("SIGCONT");
    await serves(frozen, "off");
    await eventually(async () => (await readMetric(proxy.management, leftBehind)) === 0, "it is back");
    const back = await status();
    expect(back).to.not.contain("left behind").and.not.contain("gone for");
  });
});

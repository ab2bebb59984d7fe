import { rmSync } from "node:fs";
import { expect } from "chai";
import type { StatusReport } from "@bunting/proxy/internal/management/status-report.js";
import { proxySources, startAgent, type AgentAddresses } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** 300 flags, about 60 KB, of which one carries an edit. */
function documentAt(edit: number, more: Readonly<Record<string, unknown>> = {}): string {
  const flags: Record<string, unknown> = { ...more };
  for (let i = 0; i < 300; i++) {
    flags[`flag-${i}`] = {
      state: "ENABLED",
      variants: { on: true, off: false },
      defaultVariant: "on",
      targeting: { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "on", "off"] },
      metadata: { edit: i === 150 ? edit : 0 },
    };
  }
  return JSON.stringify({ flags });
}

/** A metric's values by their labels, as they are written. */
async function metric(management: string, name: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await (await fetch(`${management}/metrics`)).text()).split("\n");
  const values = lines.flatMap((line) => {
    const [, labels, value] = new RegExp(`^${name}\\{(.*)\\} (.*)$`).exec(line) ?? [];
    return labels === undefined ? [] : [[labels, Number(value)]];
  });
  return Object.fromEntries(values) as Record<string, number>;
}

describe("bunting.sync.v1 between the processes", () => {
  let directory: TempDirectory;
  let cache: TempDirectory;
  const running: ServiceProcess[] = [];

  const proxyOf = async (...args: readonly string[]): Promise<ProxyProcess> => {
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0", ...args]);
    running.push(proxy.process);
    return proxy;
  };
  const agentOf = async (sync: string): Promise<AgentAddresses & { readonly process: ServiceProcess }> => {
    const agent = await startAgent([...proxySources(sync, "default/flags"), "--cache-dir", cache.path]);
    running.push(agent.process);
    return agent;
  };
  const serves = async ({ ofrep }: AgentAddresses, key: string, edit: number): Promise<boolean> => {
    const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/${key}`, { method: "POST" });
    const { metadata } = (await response.json()) as { metadata?: { edit?: number } };
    return metadata?.edit === edit;
  };
  const messages = (management: string): Promise<Readonly<Record<string, number>>> =>
    metric(management, "bunting_agent_sync_messages_total");
  const bytes = (management: string): Promise<Readonly<Record<string, number>>> =>
    metric(management, "bunting_agent_sync_message_bytes_total");
  const of = (kind: string): string => `source="0",kind="${kind}"`;

  beforeEach(() => {
    directory = new TempDirectory();
    cache = new TempDirectory();
  });
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
    cache.remove();
  });

  it("carries an edit of one flag as a delta of some hundred bytes", async () => {
    directory.replace("flags.json", documentAt(0));
    const proxy = await proxyOf();
    const agent = await agentOf(proxy.sync);
    await eventually(() => serves(agent, "flag-150", 0), "the document");
    for (let edit = 1; edit <= 5; edit++) {
      directory.replace("flags.json", documentAt(edit));
      await eventually(() => serves(agent, "flag-150", edit), `edit ${edit}`);
    }
    expect(await messages(agent.management)).to.include({ [of("snapshot")]: 1, [of("delta")]: 5 });
    const received = await bytes(agent.management);
    expect(received[of("snapshot")]).to.be.above(50_000);
    expect(received[of("delta")]).to.be.below(5 * 600);
    expect(await metric(agent.management, "bunting_agent_sync_nacks_total")).to.deep.equal({});
  });

  it("sends nothing again to an agent that holds the newest, whoever of the two was away", async () => {
    directory.replace("flags.json", documentAt(1));
    const proxy = await proxyOf();
    const port = proxy.sync.split(":")[1] ?? "";
    const agent = await agentOf(proxy.sync);
    await eventually(() => serves(agent, "flag-150", 1), "the document");
    expect(await proxy.process.stop()).to.equal(0);
    const second = await proxyOf("--port", port);
    await eventually(
      async () => (await messages(agent.management))[of("unchanged")] === 1,
      "unchanged after the proxy was away",
    );
    expect((await messages(agent.management))[of("snapshot")]).to.equal(1);
    expect(await agent.process.stop()).to.equal(0);
    const again = await agentOf(second.sync);
    await eventually(
      async () => (await messages(again.management))[of("unchanged")] === 1,
      "unchanged after the agent was away",
    );
    expect(await serves(again, "flag-150", 1)).to.equal(true);
    expect(Object.keys(await messages(again.management)).sort()).to.deep.equal([of("unchanged")]);
    // What the agent held from its disk is where the next delta starts.
    directory.replace("flags.json", documentAt(2));
    await eventually(() => serves(again, "flag-150", 2), "the edit");
    expect(await messages(again.management)).to.include({ [of("delta")]: 1 });
  });

  it("names at the proxy the flag that an agent can't serve, and why", async () => {
    directory.replace("flags.json", documentAt(0));
    const proxy = await proxyOf();
    const agent = await agentOf(proxy.sync);
    await eventually(() => serves(agent, "flag-150", 0), "the document");
    const broken = { state: "ENABLED", variants: { on: true }, defaultVariant: "none" };
    directory.replace("flags.json", documentAt(1, { broken }));
    await eventually(() => serves(agent, "flag-150", 1), "the others");
    const line = await proxy.process.nextLog("agents refused a flag");
    expect(line).to.include({ topic: "default/flags", flag: "broken", subscribers: 1 });
    expect(line["reason"]).to.contain("none");
    const status = (await (await fetch(`${proxy.management}/status`)).json()) as StatusReport;
    const [topic] = status.topics;
    expect(topic?.rejections?.[0]).to.include({
      flag: "broken",
      subscribers: 1,
      digest: topic?.newest?.digest,
    });
    expect(topic?.held).to.deep.equal({ [topic?.newest?.digest ?? ""]: 1 });
  });

  it("starts anew after a deletion that emptied the agent", async () => {
    directory.replace("flags.json", documentAt(0));
    const proxy = await proxyOf("--deletion-grace", "0", "--deletion-policy", "empty");
    const agent = await agentOf(proxy.sync);
    await eventually(() => serves(agent, "flag-150", 0), "the document");
    rmSync(directory.file("flags.json"));
    await eventually(async () => !(await serves(agent, "flag-150", 0)), "no flags");
    expect(await (await fetch(`${agent.management}/readyz`)).text()).to.contain("was deleted");
    directory.replace("flags.json", documentAt(3));
    await eventually(() => serves(agent, "flag-150", 3), "the flags again");
    expect(await metric(agent.management, "bunting_agent_sync_failures_total")).to.deep.equal({});
  });
});

import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { root } from "./support/chart.js";
import { runTool, skipWithout } from "./support/tool.js";

const flags = (variant: string): string =>
  JSON.stringify({
    flags: { switch: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: variant } },
  });

/** What promtool finds in names that are not ours: prom-client's, and those of flagd, which the agent keeps. */
const hasSuffixOfCounter = (what: string): string =>
  `nodejs_active_${what}_total non-counter metrics should not have "_total" suffix`;
const knownRemarks: readonly (readonly string[])[] = [
  ["handles", "requests", "resources"].map(hasSuffixOfCounter),
  [
    "feature_flag_flagd_result_reason_total label names should be written in 'snake_case' not 'camelCase'",
    hasSuffixOfCounter("resources"),
  ],
];

describe("the metrics of both binaries", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess | undefined;
  let agent: AgentProcess | undefined;
  let reader: AgentProcess | undefined;
  let proxyText = "";
  let agentText = "";
  let readerText = "";

  before("an edit, an evaluation and an error", async () => {
    directory = new TempDirectory();
    directory.replace("shop.json", flags("on"));
    proxy = await startProxy(directory.path);
    agent = await startAgent(proxySources(proxy.sync, "default/shop"));
    const { management, ofrep } = agent;
    // Of another agent, whose remote is this one.
    const uri = ofrep.replace("127.0.0.1", "localhost");
    const remote = { provider: "remote", type: "ofrep-bulk", uri, base: directory.file("shop.json") };
    const hosts = ["--remote-hosts", `${uri}=127.0.0.0/8+::1/128`];
    reader = await startAgent(["--sources", JSON.stringify([remote]), ...hosts]);
    await eventually(() => isReady(management), "the agent is ready");
    const evaluate = async (key: string): Promise<unknown> => {
      const url = `${ofrep}/ofrep/v1/evaluate/flags/${key}`;
      return (await fetch(url, { method: "POST", body: '{"context":{}}' })).json();
    };
    directory.replace("shop.json", flags("off"));
    await eventually(
      async () => !((await evaluate("switch")) as { value: boolean }).value,
      "the edit arrives",
    );
    await evaluate("no-such-flag");
    const scrape = async (at: string): Promise<string> => (await fetch(`${at}/metrics`)).text();
    const { management: proxyManagement } = proxy;
    // The share of all subscribers is reported once the agent has acknowledged the edit.
    const hasConverged = async (): Promise<boolean> => (await scrape(proxyManagement)).includes('share="1"');
    await eventually(hasConverged, "the edit is acknowledged");
    proxyText = await scrape(proxyManagement);
    agentText = await scrape(management);
    readerText = await scrape(reader.management);
  });
  after(async () => {
    await reader?.process.stop();
    await agent?.process.stop();
    await proxy?.process.stop();
    directory.remove();
  });

  const queries = [
    "deploy/dashboards/proxy.json",
    "deploy/dashboards/agent.json",
    "deploy/alerts/bunting.yaml",
  ].map((file) => readFileSync(path.join(root, file), "utf8").replaceAll('\\"', '"'));

  it("have all names that dashboards and alerts use", () => {
    const named = queries.flatMap(
      (text) =>
        text.match(/\b(?:bunting_(?:proxy|agent)|nodejs|process|feature_flag_flagd)_\w+(?=[{[ )/,\n])/g) ??
        [],
    );
    expect(named).to.include("bunting_proxy_topic_topics");
    const declared = new Set(
      [...`${proxyText}\n${agentText}\n${readerText}`.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name),
    );
    const missing = [...new Set(named)].filter(
      (name) => !declared.has(name) && !declared.has(name.replace(/_(?:bucket|sum|count)$/, "")),
    );
    expect(missing).to.deep.equal([]);
  });

  it("have the values of labels that dashboards and alerts select", () => {
    const selected = queries.flatMap(
      (text) => text.match(/\b(?:state|share|feature_flag_reason)="[^"]+"/g) ?? [],
    );
    expect([...new Set(selected)].sort()).to.deep.equal([
      'feature_flag_reason="ERROR"',
      'share="0.5"',
      'share="0.99"',
      'share="1"',
      'state="degraded"',
      'state="stale"',
    ]);
    for (const label of new Set(selected)) expect(`${proxyText}${agentText}`).to.contain(label);
  });

  describe("with promtool", () => {
    skipWithout("BUNTING_PROMTOOL");

    it("are what Prometheus reads, with remarks only about names of prom-client and flagd", async () => {
      const remarks = await Promise.all(
        [proxyText, agentText].map(async (text) => {
          const tool = process.env["BUNTING_PROMTOOL"] ?? "";
          const { stderr } = await runTool(tool, ["check", "metrics"], { stdin: text });
          return stderr.split("\n").filter((line) => line !== "");
        }),
      );
      expect(remarks).to.deep.equal(knownRemarks);
    });
  });
});

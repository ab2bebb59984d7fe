import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { isReady, proxySources, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

/** `{"!":[{"!":[…]}]}`, with this many objects. */
function nested(objects: number): string {
  return `${'{"!":['.repeat(objects)}true${"]}".repeat(objects)}`;
}

/** A flag whose rule is JSON text. */
function flag(value: string, targeting = "{}"): string {
  return `{"state":"ENABLED","variants":{"is":${JSON.stringify(value)}},"defaultVariant":"is","targeting":${targeting}}`;
}

function documentOf(
  flags: Readonly<Record<string, string>>,
  evaluators?: Readonly<Record<string, string>>,
): string {
  const members = (of: Readonly<Record<string, string>>): string =>
    Object.entries(of)
      .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
      .join(",");
  const shared = evaluators === undefined ? "" : `,"$evaluators":{${members(evaluators)}}`;
  return `{"flags":{${members(flags)}}${shared}}`;
}

async function valueOf(ofrep: string, key: string): Promise<unknown> {
  const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/${key}`, { method: "POST" });
  return ((await response.json()) as { readonly value?: unknown }).value;
}

async function metric(management: string, name: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

describe("hostile documents", () => {
  let directory: TempDirectory;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    directory.remove();
  });
  const until = (process: ServiceProcess): void => void cleanUps.push(() => process.stop("SIGKILL"));

  describe("at the agent", () => {
    const agentOf = async (...args: readonly string[]) => {
      const agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`, ...args]);
      until(agent.process);
      return agent;
    };
    const clientOf = (address: string): StockSyncClient => {
      const client = new StockSyncClient(address, { "grpc.max_receive_message_length": -1 });
      cleanUps.push(() => client.close());
      return client;
    };

    it("nested deep cost the evaluator, and the flag that uses it, and nothing else", async () => {
      const document = (version: string, depth: number): string =>
        documentOf({ good: flag(version), user: flag(version, '{"$ref":"deep"}') }, { deep: nested(depth) });
      directory.replace("flags.json", document("1", 5));
      const agent = await agentOf();
      await eventually(async () => (await valueOf(agent.ofrep, "good")) === "1", "the first version");
      // A deep one after a deep one: they are compared.
      for (const [version, depth] of [
        ["2", 2_500],
        ["3", 2_501],
        ["4", 20_000],
      ] as const) {
        directory.replace("flags.json", document(version, depth));
        await eventually(async () => (await valueOf(agent.ofrep, "good")) === version, `version ${version}`);
      }
      const log = await agent.process.nextLog(
        "flags were rejected; each keeps its previous value, if it had one",
      );
      expect(log["flags"]).to.deep.equal(["user"]);
      expect(log["reason"]).to.contain(
        'the evaluator "deep" it refers to is nested more than 200 levels deep',
      );
      expect(await metric(agent.management, "bunting_agent_store_rejected_flags")).to.equal(1);
      const client = clientOf(agent.sync);
      expect(JSON.parse(await client.fetchAll(""))).to.have.nested.property("flags.good.variants.is", "4");
    });

    it("nested deep do not break SyncFlags by way of a reference", async () => {
      directory.replace(
        "flags.json",
        documentOf({ good: flag("1"), user: flag("1", '{"$ref":"deep"}') }, { deep: nested(6_000) }),
      );
      const agent = await agentOf();
      await eventually(() => isReady(agent.management), "/readyz");
      const message = await clientOf(agent.sync).subscribe().messages.nextEvent("the flags");
      expect(Object.keys(message.flags)).to.deep.equal(["good"]);
    });

    it("of a rule that thousands of flags refer to, do not fill its memory", async () => {
      const conditions = Array.from({ length: 60 }, (_, index) => `{"==":[{"var":"v${index}"},"t${index}"]}`);
      const flags = Array.from({ length: 3_000 }, (_, index) => [
        `flag-${index}`,
        flag("1", '{"if":[{"$ref":"long"},"is"]}'),
      ]);
      const document = documentOf(Object.fromEntries(flags) as Record<string, string>, {
        long: `{"and":[${conditions.join(",")}]}`,
      });
      directory.replace("flags.json", document);
      const agent = await agentOf();
      await eventually(() => isReady(agent.management), "/readyz");
      const response = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags`, { method: "POST" });
      expect(((await response.json()) as { flags: unknown[] }).flags).to.have.length(3_000);
      expect(await clientOf(agent.sync).fetchAll("")).to.have.length.greaterThan(3_000 * 1_500);
      expect(agent.process.child.exitCode).to.equal(null);
    });

    it("of rules that would run for minutes, answer with an error", async () => {
      const spaces = " ".repeat(200_000);
      const items = JSON.stringify(Array.from({ length: 50_000 }, () => 1));
      const rule = `{"map":[${items},{"==":["${spaces}",1]}]}`;
      directory.replace("flags.json", documentOf({ good: flag("1"), slow: flag("1", rule) }));
      const agent = await agentOf();
      await eventually(() => isReady(agent.management), "/readyz");
      const url = `${agent.ofrep}/ofrep/v1/evaluate/flags/slow`;
      const answer = (await (await fetch(url, { method: "POST" })).json()) as { readonly errorCode?: string };
      expect(answer.errorCode).to.equal("PARSE_ERROR");
      expect(await valueOf(agent.ofrep, "good")).to.equal("1");
    });

    it("nested deep do not make it start over and over from its own cache", async () => {
      const cache = directory.file("cache");
      directory.replace("flags.json", documentOf({ good: flag("1") }, { deep: nested(2_500) }));
      const first = await agentOf("--cache-dir", cache);
      await eventually(() => isReady(first.management), "/readyz");
      expect(await first.process.stop(), first.process.output).to.equal(0);
      directory.replace("flags.json", documentOf({ good: flag("2") }, { deep: nested(2_501) }));
      const second = await agentOf("--cache-dir", cache);
      await eventually(async () => (await valueOf(second.ofrep, "good")) === "2", "the next version");
      expect(await second.process.stop(), second.process.output).to.equal(0);
      expect(readdirSync(cache)).to.have.length(1);
    });
  });

  describe("at the proxy", () => {
    const statusOf = async (proxy: ProxyProcess): Promise<{ state?: string; staleReason?: string }> => {
      const response = await fetch(`${proxy.management}/status`, { headers: { accept: "application/json" } });
      const { topics } = (await response.json()) as { topics: { state: string; staleReason?: string }[] };
      return topics[0] ?? {};
    };
    const agentOf = async (proxy: ProxyProcess) => {
      const agent = await startAgent(proxySources(proxy.sync, "default/flags"));
      until(agent.process);
      return agent;
    };

    /** A proxy in a cluster with this FeatureFlag. */
    const clusterOf = async (document: string) => {
      const api = await FaultyApiServer.start();
      cleanUps.push(() => api.close());
      const account = directory.file("account");
      mkdirSync(account);
      writeFileSync(path.join(account, "ca.crt"), api.ca);
      writeFileSync(path.join(account, "token"), "a-token");
      const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
      const put = (text: string): void =>
        void api.put("default", "flags", { flagSpec: JSON.parse(text) as unknown });
      put(document);
      const proxy = await startProxyInPod({ directory: account, environment });
      until(proxy.process);
      return { put, proxy };
    };

    it("nested deep are refused with a reason, and the last version is served (Kubernetes)", async () => {
      const { put, proxy } = await clusterOf(documentOf({ good: flag("1") }));
      const agent = await agentOf(proxy);
      await eventually(async () => (await valueOf(agent.ofrep, "good")) === "1", "the first version");
      put(documentOf({ good: flag("2"), bad: flag("2", nested(1_500)) }));
      const log = await proxy.process.nextLog(
        "a flag of a FeatureFlag is invalid; its last valid version, if it had one, is still served",
      );
      expect(log).to.include({ topic: "default/flags", path: "flags.bad" });
      expect(log["reason"]).to.contain("nested more than 200 levels deep");
      await eventually(async () => (await valueOf(agent.ofrep, "good")) === "2", "the valid flag's version");
      put(documentOf({ good: flag("3"), bad: flag("3", nested(99)) }));
      await eventually(async () => (await valueOf(agent.ofrep, "good")) === "3", "the next version");
      expect((await statusOf(proxy)).state).to.equal("live");
    });

    it("nested as deep as is allowed pass every stage, through a reference twice as deep", async () => {
      const deep = (version: string): string => {
        // A flag of nearly 200 levels whose innermost is a reference to an evaluator of 200.
        const [open, close] = ['{"!":['.repeat(97), "]}".repeat(97)];
        const rule = `{"if":[${open}{"$ref":"deep"}${close},"is"]}`;
        return documentOf({ deep: flag(version, rule) }, { deep: nested(100) });
      };
      const { put, proxy } = await clusterOf(deep("0"));
      const agent = await agentOf(proxy);
      for (const version of ["1", "2", "3"]) {
        put(deep(version));
        await eventually(async () => (await valueOf(agent.ofrep, "deep")) === version, `version ${version}`);
      }
      const client = new StockSyncClient(agent.sync);
      cleanUps.push(() => client.close());
      expect(await client.fetchAll("")).to.contain('"is":"3"');
    });

    it("nested deep are refused with a reason, and the last version is served (a directory)", async () => {
      directory.replace("flags.json", documentOf({ good: flag("1") }));
      const proxy = await startProxy(directory.path);
      until(proxy.process);
      const agent = await agentOf(proxy);
      await eventually(async () => (await valueOf(agent.ofrep, "good")) === "1", "the first version");
      directory.replace("flags.json", documentOf({ good: flag("2"), bad: flag("2", nested(1_500)) }));
      await proxy.process.nextLog(
        "part of a flag file is invalid; its last valid version, if it had one, is still served",
      );
      expect((await statusOf(proxy)).state).to.equal("stale");
      expect(await valueOf(agent.ofrep, "good")).to.equal("1");
    });
  });
});

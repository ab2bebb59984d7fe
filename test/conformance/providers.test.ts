import { FlagdProvider } from "@openfeature/flagd-provider";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import {
  ErrorCode,
  OpenFeature,
  ProviderEvents,
  ProviderStatus,
  StandardResolutionReasons,
  type Client,
  type Provider,
} from "@openfeature/server-sdk";
import { expect } from "chai";
import { isReady, proxySources, startAgent } from "../support/agent-process.js";
import { EventQueue, eventually, patienceMs } from "../support/event-queue.js";
import { patient } from "../support/patience.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** A flagd file with a flag of each type; `colour` is what an edit changes. */
function flagFile(colour: string): string {
  return JSON.stringify({
    metadata: { team: "conformance" },
    $evaluators: { isEmployee: { ends_with: [{ var: "email" }, "@example.com"] } },
    flags: {
      bool: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
      colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: colour },
      number: { state: "ENABLED", variants: { half: 0.5, many: 42 }, defaultVariant: "many" },
      object: { state: "ENABLED", variants: { a: { x: 1, y: ["é", null] } }, defaultVariant: "a" },
      targeted: {
        state: "ENABLED",
        variants: { yes: "employee", no: "guest" },
        defaultVariant: "no",
        targeting: { if: [{ $ref: "isEmployee" }, "yes", null] },
        metadata: { owner: "flags" },
      },
      split: {
        state: "ENABLED",
        variants: { a: "a", b: "b" },
        defaultVariant: "a",
        targeting: {
          fractional: [
            ["a", 50],
            ["b", 50],
          ],
        },
      },
      disabled: { state: "DISABLED", variants: { on: true, off: false }, defaultVariant: "on" },
      "code-default": { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: null },
      broken: {
        state: "ENABLED",
        variants: { on: true, off: false },
        defaultVariant: "on",
        targeting: { "no such operator": [1] },
      },
    },
  });
}

const host = "127.0.0.1";
const employee = { targetingKey: "é-1", email: "ada@example.com" };

interface Way {
  readonly name: string;
  readonly provider: (ports: { proxy: number; agent: number; sync: number; ofrep: number }) => Provider;
  /** OFREP's server provider caches no flags and emits no change events. */
  readonly announcesChanges: boolean;
}

const ways: readonly Way[] = [
  {
    name: "flagd provider, rpc",
    provider: ({ agent }) =>
      new FlagdProvider({
        resolverType: "rpc",
        host,
        deadlineMs: patient(patienceMs),
        port: agent,
        cache: "disabled",
      }),
    announcesChanges: true,
  },
  {
    name: "flagd provider, in-process against the proxy",
    provider: ({ proxy }) =>
      new FlagdProvider({
        resolverType: "in-process",
        host,
        deadlineMs: patient(patienceMs),
        port: proxy,
        selector: "default/flags",
      }),
    announcesChanges: true,
  },
  {
    name: "flagd provider, in-process against the agent",
    provider: ({ sync }) =>
      new FlagdProvider({ resolverType: "in-process", host, deadlineMs: patient(patienceMs), port: sync }),
    announcesChanges: true,
  },
  {
    name: "OFREP provider",
    provider: ({ ofrep }) => new OFREPProvider({ baseUrl: `http://${host}:${ofrep}` }),
    announcesChanges: false,
  },
];

describe("the OpenFeature providers from npm, unchanged", () => {
  const directory = new TempDirectory();
  const running: ServiceProcess[] = [];
  let ports: Parameters<Way["provider"]>[0];

  before(async () => {
    directory.replace("flags.json", flagFile("red"));
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
    running.push(proxy.process);
    const agent = await startAgent(proxySources(proxy.sync, "default/flags"));
    running.push(agent.process);
    await eventually(() => isReady(agent.management), "the agent is ready");
    const port = (service: string): number => agent.ports.get(service) ?? 0;
    ports = {
      proxy: Number(proxy.sync.split(":")[1]),
      agent: port("evaluation"),
      sync: port("sync"),
      ofrep: port("ofrep"),
    };
  });
  after(async () => {
    await OpenFeature.close();
    for (const one of running) expect(await one.stop(), one.output).to.equal(0);
    directory.remove();
  });

  for (const way of ways) {
    describe(way.name, () => {
      let client: Client;
      before(async () => {
        await OpenFeature.setProviderAndWait(way.name, way.provider(ports));
        client = OpenFeature.getClient(way.name);
      });

      it("resolves every type, with variant, reason and metadata", async () => {
        const bool = await client.getBooleanDetails("bool", false);
        expect(bool).to.include({ value: true, variant: "on", reason: StandardResolutionReasons.STATIC });
        expect(await client.getStringValue("colour", "")).to.equal("red");
        expect(await client.getNumberValue("number", 0)).to.equal(42);
        expect(await client.getObjectValue("object", {})).to.deep.equal({ x: 1, y: ["é", null] });
        expect(bool.flagMetadata).to.include({ team: "conformance" });
        const targeted = await client.getStringDetails("targeted", "", employee);
        expect(targeted).to.include({ value: "employee", variant: "yes", reason: "TARGETING_MATCH" });
        expect(targeted.flagMetadata).to.include({ team: "conformance", owner: "flags" });
        expect(await client.getStringDetails("targeted", "", { targetingKey: "x" })).to.include({
          value: "guest",
          reason: StandardResolutionReasons.DEFAULT,
        });
      });

      it("returns the default in the code for flags that are disabled or have no default variant", async () => {
        expect((await client.getBooleanDetails("disabled", false)).value).to.equal(false);
        expect((await client.getBooleanDetails("disabled", true)).value).to.equal(true);
        const codeDefault = await client.getBooleanDetails("code-default", true);
        expect(codeDefault.value).to.equal(true);
        // This version of the OFREP provider treats an answer without a value, which the protocol allows, as an error.
        if (way.announcesChanges) expect(codeDefault.reason).to.equal(StandardResolutionReasons.DEFAULT);
      });

      it("reports what is wrong with a request", async () => {
        expect((await client.getBooleanDetails("nowhere", true)).errorCode).to.equal(
          ErrorCode.FLAG_NOT_FOUND,
        );
        expect((await client.getBooleanDetails("colour", true)).errorCode).to.equal(ErrorCode.TYPE_MISMATCH);
        expect((await client.getBooleanDetails("broken", true)).errorCode).to.equal(ErrorCode.PARSE_ERROR);
      });
    });
  }

  // These run last: they edit the flags and stop the proxy.
  describe("together", () => {
    it("put the same user in the same bucket, whichever protocol they use", async () => {
      for (let i = 0; i < 20; i++) {
        const context = { targetingKey: `user-${i}` };
        const answers = await Promise.all(
          ways.map(({ name }) => OpenFeature.getClient(name).getStringValue("split", "", context)),
        );
        expect(new Set(answers).size, `${context.targetingKey}: ${answers.join()}`).to.equal(1);
      }
    });

    it("are notified of an edit on disk, and of the flag that changed", async () => {
      const changes = new EventQueue<string>();
      for (const { name, announcesChanges } of ways) {
        if (!announcesChanges) continue;
        OpenFeature.getClient(name).addHandler(ProviderEvents.ConfigurationChanged, (details) => {
          if (details?.flagsChanged?.includes("colour") === true) changes.push(name);
        });
      }
      directory.replace("flags.json", flagFile("blue"));
      const changed = new Set<string>();
      while (changed.size < 3) changed.add(await changes.nextEvent(`a change after ${[...changed].join()}`));
      for (const { name } of ways) {
        await eventually(
          async () => (await OpenFeature.getClient(name).getStringValue("colour", "")) === "blue",
          `${name} answers blue`,
        );
      }
    });

    it("go stale when the proxy ends, and are ready with the newest flags once it is back (P-17)", async () => {
      const [, inProcess] = ways;
      if (inProcess === undefined) throw new Error("there is no in-process way");
      const client = OpenFeature.getClient(inProcess.name);
      const stale = new EventQueue<string>();
      const ready = new EventQueue<string>();
      client.addHandler(ProviderEvents.Stale, () => stale.push("stale"));
      client.addHandler(ProviderEvents.Ready, () => ready.push("ready"));
      while (ready.size > 0) await ready.nextEvent();
      expect(await running[0]?.stop()).to.equal(0);
      await stale.nextEvent("PROVIDER_STALE after the proxy ended");
      directory.replace("flags.json", flagFile("red"));
      const back = await startProxy(directory.path, [
        "--port",
        String(ports.proxy),
        "--drain-delay",
        "0",
        "--drain-window",
        "0",
      ]);
      running[0] = back.process;
      await ready.nextEvent("PROVIDER_READY after the proxy came back");
      expect(client.providerStatus).to.equal(ProviderStatus.READY);
      for (const { name } of ways) {
        await eventually(
          async () => (await OpenFeature.getClient(name).getStringValue("colour", "")) === "red",
          `${name} answers red`,
        );
      }
    });
  });
});

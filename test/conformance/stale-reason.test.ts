import { FlagdProvider } from "@openfeature/flagd-provider";
import { FlagdWebProvider } from "@openfeature/flagd-web-provider";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { OpenFeature as OpenFeatureWeb, type Provider as WebProvider } from "@openfeature/web-sdk";
import { expect } from "chai";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually, patienceMs } from "../support/event-queue.js";
import { patient } from "../support/patience.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const flags = JSON.stringify({
  flags: {
    colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: "red" },
    targeted: {
      state: "ENABLED",
      variants: { yes: "employee", no: "guest" },
      defaultVariant: "no",
      targeting: { if: [{ "==": [{ var: "email" }, "ada@example.com"] }, "yes"] },
    },
    disabled: { state: "DISABLED", variants: { red: "red" }, defaultVariant: "red" },
  },
});
const host = "127.0.0.1";
const ada = { targetingKey: "1", email: "ada@example.com" };
const noDrain = ["--drain-delay", "0", "--drain-window", "0"];

interface Details {
  readonly value: string;
  readonly reason?: string;
  readonly variant?: string;
}

type Resolve = (key: string) => Promise<Details>;

/** While the proxy is away for longer than --stale-after, the values stay and their reason says so, whichever protocol is spoken. */
describe("the reason STALE, in the providers from npm", () => {
  const directory = new TempDirectory();
  let agent: AgentProcess;
  let proxy: { readonly sync: string; readonly process: ServiceProcess };

  before(async () => {
    directory.replace("flags.json", flags);
    proxy = await startProxy(directory.path, noDrain);
    agent = await startAgent([...proxySources(proxy.sync, "default/flags"), "--stale-after", "100ms"]);
    await eventually(() => isReady(agent.management), "the agent is ready");
    await OpenFeatureWeb.setContext(ada);
  });
  after(async () => {
    await OpenFeature.close();
    await OpenFeatureWeb.close();
    for (const one of [proxy, agent]) expect(await one.process.stop(), one.process.output).to.equal(0);
    directory.remove();
  });

  const port = (service: string): number => agent.ports.get(service) ?? 0;

  async function connectRpc(): Promise<Resolve> {
    await OpenFeature.setProviderAndWait(
      "rpc",
      new FlagdProvider({
        resolverType: "rpc",
        host,
        deadlineMs: patient(patienceMs),
        port: port("evaluation"),
        cache: "disabled",
      }),
    );
    return (key) => OpenFeature.getClient("rpc").getStringDetails(key, "none", ada);
  }

  async function connectOfrep(): Promise<Resolve> {
    await OpenFeature.setProviderAndWait("OFREP", new OFREPProvider({ baseUrl: agent.ofrep }));
    return (key) => OpenFeature.getClient("OFREP").getStringDetails(key, "none", ada);
  }

  async function connectWeb(name: string, provider: WebProvider): Promise<Resolve> {
    await OpenFeatureWeb.setProviderAndWait(name, provider);
    let contexts = 0;
    return async (key) => {
      // A change of the context makes these providers ask for all flags again.
      await OpenFeatureWeb.setContext(name, { ...ada, contexts: contexts++ });
      return OpenFeatureWeb.getClient(name).getStringDetails(key, "none");
    };
  }

  it("comes when the proxy is away, and goes when it is back", async () => {
    const ways: Record<string, Resolve> = {
      rpc: await connectRpc(),
      OFREP: await connectOfrep(),
      "flagd-web": await connectWeb(
        "flagd-web",
        new FlagdWebProvider({ host, port: port("evaluation"), tls: false, maxRetries: -1 }),
      ),
      "OFREP web": await connectWeb(
        "OFREP web",
        new OFREPWebProvider({ baseUrl: agent.ofrep, cacheMode: "disabled" }) as WebProvider,
      ),
    };
    const each = async (key: string, expected: Details): Promise<void> => {
      for (const [name, resolve] of Object.entries(ways)) {
        let last: Details | undefined;
        await eventually(
          async () => {
            last = await resolve(key);
            return last.reason === expected.reason;
          },
          `${name}: ${key} is ${String(expected.reason)}`,
        );
        expect(last, name).to.include(expected);
      }
    };
    const serves = async (colourReason: string, targetedReason: string): Promise<void> => {
      await each("colour", { value: "red", variant: "red", reason: colourReason });
      await each("targeted", { value: "employee", variant: "yes", reason: targetedReason });
    };
    await serves("STATIC", "TARGETING_MATCH");

    expect(await proxy.process.stop()).to.equal(0);
    await serves("STALE", "STALE");
    // It has no value which could be stale.
    expect(await ways["rpc"]?.("disabled")).to.include({ value: "none", reason: "DISABLED" });

    proxy = await startProxy(directory.path, [...noDrain, "--port", proxy.sync.split(":")[1] ?? ""]);
    await serves("STATIC", "TARGETING_MATCH");
  });
});

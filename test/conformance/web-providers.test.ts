import { FlagdWebProvider } from "@openfeature/flagd-web-provider";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import {
  ErrorCode,
  OpenFeature,
  ProviderEvents,
  StandardResolutionReasons,
  type Client,
  type Provider,
} from "@openfeature/web-sdk";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { EventQueue, eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

function flagFile(colour: string): string {
  return JSON.stringify({
    flags: {
      bool: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
      colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: colour },
      number: { state: "ENABLED", variants: { zero: 0, many: 42.5 }, defaultVariant: "many" },
      object: { state: "ENABLED", variants: { a: { x: 1, y: ["é", null] } }, defaultVariant: "a" },
      targeted: {
        state: "ENABLED",
        variants: { yes: "employee", no: "guest" },
        defaultVariant: "no",
        targeting: { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "yes"] },
      },
    },
  });
}

interface Way {
  readonly name: string;
  readonly provider: (agent: AgentProcess) => Provider;
}

const ways: readonly Way[] = [
  {
    name: "flagd-web provider, Connect over fetch",
    provider: ({ ports }) =>
      new FlagdWebProvider({
        host: "127.0.0.1",
        port: ports.get("evaluation") ?? 0,
        tls: false,
        // None: a provider that is closed would go on trying, which keeps the process of the tests alive.
        maxRetries: -1,
      }),
  },
  {
    name: "OFREP web provider",
    provider: ({ ofrep }) =>
      // Its types are not made for exactOptionalPropertyTypes.
      new OFREPWebProvider({
        baseUrl: ofrep,
        cacheMode: "disabled",
        pollInterval: 50,
        changeDetection: "polling",
      }) as Provider,
  },
];

describe("the OpenFeature web providers from npm, in node", () => {
  const directory = new TempDirectory();
  let agent: AgentProcess;

  before(async () => {
    directory.replace("flags.json", flagFile("red"));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
    await eventually(() => isReady(agent.management), "the agent is ready");
    await OpenFeature.setContext({ targetingKey: "é-1", email: "ada@example.com" });
  });
  after(async () => {
    await OpenFeature.close();
    const exitCode = await agent.process.stop();
    directory.remove();
    expect(exitCode, agent.process.output).to.equal(0);
  });

  for (const { name, provider } of ways) {
    describe(name, () => {
      let client: Client;
      before(async () => {
        directory.replace("flags.json", flagFile("red"));
        await OpenFeature.setProviderAndWait(name, provider(agent));
        client = OpenFeature.getClient(name);
        await eventually(() => client.getStringValue("colour", "") === "red", "the first flags");
      });

      it("resolves every type, with variant and reason", () => {
        expect(client.getBooleanDetails("bool", false)).to.include({
          value: true,
          variant: "on",
          reason: StandardResolutionReasons.STATIC,
        });
        expect(client.getNumberValue("number", 0)).to.equal(42.5);
        expect(client.getObjectValue("object", {})).to.deep.equal({ x: 1, y: ["é", null] });
        expect(client.getStringDetails("targeted", "")).to.include({
          value: "employee",
          variant: "yes",
          reason: StandardResolutionReasons.TARGETING_MATCH,
        });
        expect(client.getBooleanDetails("nowhere", true).errorCode).to.equal(ErrorCode.FLAG_NOT_FOUND);
        expect(client.getBooleanDetails("colour", true).errorCode).to.equal(ErrorCode.TYPE_MISMATCH);
      });

      it("evaluates again for another context", async () => {
        await OpenFeature.setContext({ targetingKey: "guest" });
        expect(client.getStringValue("targeted", "")).to.equal("guest");
        await OpenFeature.setContext({ targetingKey: "é-1", email: "ada@example.com" });
        expect(client.getStringValue("targeted", "")).to.equal("employee");
      });

      it("is notified of an edit on disk", async () => {
        const changes = new EventQueue<string>();
        client.addHandler(ProviderEvents.ConfigurationChanged, () =>
          changes.push(client.getStringValue("colour", "")),
        );
        directory.replace("flags.json", flagFile("blue"));
        await changes.nextMatching((colour) => colour === "blue", "PROVIDER_CONFIGURATION_CHANGED");
      });
    });
  }
});

interface JsonAnswer {
  readonly code?: string;
  readonly value?: unknown;
  readonly variant?: string;
  readonly reason?: string;
}

/** PHP has no client of gRPC in its provider: it posts JSON, with the names of fields as they are in the protos. */
describe("a client of plain HTTP and JSON, as the OpenFeature provider for PHP is", () => {
  const directory = new TempDirectory();
  let agent: AgentProcess;

  before(async () => {
    directory.replace("flags.json", flagFile("red"));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  after(async () => {
    const exitCode = await agent.process.stop();
    directory.remove();
    expect(exitCode, agent.process.output).to.equal(0);
  });

  async function post(method: string, key: string, context: unknown): Promise<JsonAnswer> {
    const response = await fetch(`http://${agent.evaluation}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ flag_key: key, context }),
    });
    return (await response.json()) as JsonAnswer;
  }

  for (const service of ["schema.v1.Service", "flagd.evaluation.v1.Service", "flagd.evaluation.v2.Service"]) {
    it(`resolves every type of ${service}, and knows an error by its code`, async () => {
      const ask = (method: string, key: string, context: unknown = {}): Promise<JsonAnswer> =>
        post(`${service}/${method}`, key, context);
      expect(await ask("ResolveBoolean", "bool")).to.include({
        value: true,
        variant: "on",
        reason: "STATIC",
      });
      expect((await ask("ResolveFloat", "number")).value).to.equal(42.5);
      expect((await ask("ResolveObject", "object")).value).to.deep.equal({ x: 1, y: ["é", null] });
      // An int64 is a string in the JSON of protobuf; the provider takes either.
      expect((await ask("ResolveInt", "number")).value).to.equal("42");
      const employee = await ask("ResolveString", "targeted", { email: "ada@example.com" });
      expect(employee).to.include({ value: "employee", reason: "TARGETING_MATCH" });
      expect((await ask("ResolveBoolean", "nowhere")).code).to.equal("not_found");
      expect((await ask("ResolveBoolean", "colour")).code).to.equal("invalid_argument");
    });
  }
});

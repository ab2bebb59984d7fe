import { FlagdProvider } from "@openfeature/flagd-provider";
import {
  OpenFeature,
  ProviderEvents,
  ProviderStatus,
  type Client,
  type EventDetails,
  type Provider,
} from "@openfeature/server-sdk";
import { expect } from "chai";
import path from "node:path";
import { EventQueue, eventually, patienceMs } from "../support/event-queue.js";
import { patient } from "../support/patience.js";
import { scaled } from "../support/scale.js";
import { createProvider, resolve, TestbedAgent } from "./testbed/testbed-agent.js";

const ways = ["rpc", "in-process"] as const;

class Events {
  readonly #queues = new Map<ProviderEvents, EventQueue<EventDetails | undefined>>();

  constructor(client: Client) {
    for (const event of Object.values(ProviderEvents)) {
      const queue = new EventQueue<EventDetails | undefined>();
      this.#queues.set(event, queue);
      client.addHandler(event, (details) => queue.push(details));
    }
  }

  next(event: ProviderEvents): Promise<EventDetails | undefined> {
    return this.#queue(event).nextEvent(event);
  }

  async changeOf(key: string): Promise<void> {
    const changes = this.#queue(ProviderEvents.ConfigurationChanged);
    await changes.nextMatching((details) => flagsOf(details).includes(key), `${key} changes`);
  }

  #queue(event: ProviderEvents): EventQueue<EventDetails | undefined> {
    const queue = this.#queues.get(event);
    if (queue === undefined) throw new Error(`there is no event ${event}`);
    return queue;
  }
}

function flagsOf(details: EventDetails | undefined): readonly string[] {
  return (details as { readonly flagsChanged?: readonly string[] } | undefined)?.flagsChanged ?? [];
}

/** How providers follow an agent that changes, goes and comes back, in our words. */
describe("the connections that flagd-testbed describes", () => {
  let domains = 0;

  async function connect(provider: Provider): Promise<{ client: Client; events: Events }> {
    const domain = `connection ${domains++}`;
    await OpenFeature.setProviderAndWait(domain, provider);
    const client = OpenFeature.getClient(domain);
    return { client, events: new Events(client) };
  }

  for (const way of ways) {
    describe(way, () => {
      const agent = new TestbedAgent("-X", "injected=set", "--disable-sync-metadata");

      before(() => agent.start());
      after(async () => {
        await OpenFeature.close();
        await agent.stop();
      });

      it("is ready, says which flag was changed, and only that one", async () => {
        const { client, events } = await connect(createProvider(way, agent));
        await events.next(ProviderEvents.Ready);
        // An agent that has just started names all flags to a new stream of events: it can't know what its client has.
        if (way === "rpc") await events.changeOf("string-flag");
        expect((await resolve(client, "changing-flag", "none")).value).to.equal("foo");

        agent.change("bar");

        const details = await events.next(ProviderEvents.ConfigurationChanged);
        expect(flagsOf(details)).to.deep.equal(["changing-flag"]);
        expect((await resolve(client, "changing-flag", "none")).value).to.equal("bar");
        agent.change("foo");
        await events.changeOf("changing-flag");
      });

      it("is ready, stale when the agent is killed, then in error, and ready when it is back", async () => {
        const { client, events } = await connect(createProvider(way, agent));
        await events.next(ProviderEvents.Ready);
        expect((await resolve(client, "flagd-context-aware", "not")).value).to.equal("internal");

        await agent.kill();
        await events.next(ProviderEvents.Stale);
        // In process, the flags and the context of the agent stay.
        expect((await resolve(client, "flagd-context-aware", "not")).value).to.equal(
          way === "rpc" ? "not" : "internal",
        );
        await events.next(ProviderEvents.Error);
        agent.change("bar");
        await agent.start();

        await events.next(ProviderEvents.Ready);
        expect(client.providerStatus).to.equal(ProviderStatus.READY);
        await eventually(
          async () => (await resolve(client, "changing-flag", "none")).value === "bar",
          "the edit that was made meanwhile",
        );
        expect((await resolve(client, "flagd-context-aware", "not")).value).to.equal("internal");
        agent.change("foo");
        await events.changeOf("changing-flag");
      });

      it("is in error while there is no agent, and ready once there is", async () => {
        await agent.kill();
        const domain = `connection ${domains++}`;
        const client = OpenFeature.getClient(domain);
        const events = new Events(client);
        // It is in error once its first try to connect has taken so long.
        const provider = createProvider(way, agent, { deadlineMs: scaled(patienceMs, 3_000) });
        const failure = await OpenFeature.setProviderAndWait(domain, provider).catch(
          (error: unknown) => error,
        );
        expect(failure).to.be.instanceOf(Error);
        await events.next(ProviderEvents.Error);
        expect((await resolve(client, "boolean-flag", false)).value).to.equal(false);

        await agent.start();

        await events.next(ProviderEvents.Ready);
        expect((await resolve(client, "boolean-flag", false)).value).to.equal(true);
        await everyClientIsReady();
      });
    });

    it(`${way} connects over a unix socket`, async () => {
      const agent = new TestbedAgent();
      const socketPath = path.join(agent.directory.path, "flagd.sock");
      const over = new TestbedAgent(way === "rpc" ? "--socket-path" : "--sync-socket-path", socketPath);
      await over.start();
      const { client, events } = await connect(
        new FlagdProvider({
          resolverType: way,
          socketPath,
          deadlineMs: patient(patienceMs),
          cache: "disabled",
        }),
      );
      expect((await resolve(client, "boolean-flag", false)).value).to.equal(true);
      over.change("bar");
      await events.changeOf("changing-flag");
      await OpenFeature.close();
      await over.stop();
      agent.directory.remove();
    });
  }

  /** A provider that is closed while it reconnects leaves its timer behind. */
  async function everyClientIsReady(): Promise<void> {
    const clients = Array.from({ length: domains }, (_, at) => OpenFeature.getClient(`connection ${at}`));
    await eventually(
      () => clients.every(({ providerStatus }) => providerStatus === ProviderStatus.READY),
      "all providers are connected",
    );
  }

  describe("rpc with a cache", () => {
    const agent = new TestbedAgent("-X", "injected=set");
    let client: Client;
    let events: Events;

    before(async () => {
      await agent.start();
      ({ client, events } = await connect(
        createProvider("rpc", agent, { cache: "lru", retryGracePeriod: 1 }),
      ));
      // An agent that has just started names all flags.
      await events.changeOf("string-flag");
    });
    after(async () => {
      await OpenFeature.close();
      await agent.stop();
    });

    const reasonOf = async (key: string, fallback: boolean | string): Promise<string | undefined> =>
      (await resolve(client, key, fallback)).reason;

    for (const [key, fallback] of [
      ["boolean-flag", false],
      ["string-flag", "bye"],
      ["integer-flag", 1],
      ["float-flag", 0.1],
      ["object-flag", {}],
      ["boolean-zero-flag", true],
      ["string-zero-flag", "bye"],
    ] as const) {
      it(`keeps ${key}, which is static, with its variant`, async () => {
        const asked = await resolve(client, key, fallback);
        expect(asked.reason).to.equal("STATIC");
        const kept = await resolve(client, key, fallback);
        expect(kept).to.deep.include({ value: asked.value, variant: asked.variant, reason: "CACHED" });
      });
    }

    it("keeps no flag whose value depends on the context, nor one that is disabled", async () => {
      for (const again of [1, 2]) {
        expect(await reasonOf("flagd-context-aware", "not"), String(again)).to.equal("TARGETING_MATCH");
        expect(await reasonOf("disabled-boolean-flag", false), String(again)).to.equal("DISABLED");
        expect(await reasonOf("null-default-flag", false), String(again)).to.equal("DEFAULT");
      }
    });

    it("asks again for a flag after its change, and keeps the others", async () => {
      for (const value of ["bar", "foo"] as const) {
        agent.change(value);
        await events.changeOf("changing-flag");
        const details = await resolve(client, "changing-flag", "none");
        expect(details).to.include({ value, reason: "STATIC" });
        expect(await reasonOf("changing-flag", "none")).to.equal("CACHED");
        expect(await reasonOf("string-flag", "none")).to.equal("CACHED");
      }
    });

    it("asks again for all flags after the agent was away", async () => {
      await agent.kill();
      await events.next(ProviderEvents.Stale);
      await events.next(ProviderEvents.Error);
      await agent.start();
      await events.next(ProviderEvents.Ready);
      await eventually(
        async () => (await reasonOf("boolean-flag", false)) === "STATIC",
        "the flag is asked for again",
      );
      expect(await reasonOf("boolean-flag", false)).to.equal("CACHED");
    });
  });
});

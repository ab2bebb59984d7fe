import type { ServerHttp2Stream } from "node:http2";
import { buntingSyncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { proxySources, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import {
  encode,
  flood,
  HostileSyncServer,
  onSubscribe,
  open,
  refuse,
  snapshot,
  versionWith,
} from "../support/hostile-sync-server.js";
import { maxGrowthMebibytes } from "./support/attacked-agent.js";
import { brokenStreams } from "./support/broken-streams.js";
import { Vitals } from "./support/vitals.js";

const topic = "demo/flags";
const good = { f: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } };
/** How many messages a flood has. */
const floodMessages = 2_000;

/** What a proxy can do to the agent that trusts it with its flags. */
describe("an agent whose proxy is hostile", () => {
  let proxy: HostileSyncServer;
  let agent: Awaited<ReturnType<typeof startAgent>>;
  let vitals: Vitals;

  async function attack(
    serve: (stream: ServerHttp2Stream) => void,
    settings?: { readonly initialWindowSize?: number },
  ): Promise<void> {
    proxy = new HostileSyncServer(serve, settings);
    agent = await startAgent(proxySources(await proxy.listen(), topic));
    vitals = new Vitals(agent.process.pid);
  }

  afterEach(async () => {
    vitals.stop();
    proxy.stop();
    expect(await agent.process.stop(), agent.process.output.slice(-2_000)).to.equal(0);
  });

  async function isWell(): Promise<void> {
    expect((await fetch(`${agent.management}/healthz`)).status).to.equal(200);
    vitals.expectWithinContainer(maxGrowthMebibytes);
    const lines = agent.process.output.split("\n");
    expect(lines.length, "lines of the log").to.be.lessThan(60);
    expect(Math.max(...lines.map(({ length }) => length)), "characters of a line").to.be.lessThan(4_000);
  }

  /** Messages of the proxy that the agent has taken. */
  async function taken(): Promise<number> {
    const text = await (await fetch(`${agent.management}/metrics`)).text();
    const lines = text.split("\n").filter((line) => line.startsWith("bunting_agent_sync_messages_total"));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  for (const [what, flags] of [
    ["nacks", undefined],
    ["acks of 100 KB", rejectedFlags()],
  ] as const) {
    it(`ends a stream of a proxy that reads none of its ${what}`, async () => {
      const digest = Buffer.alloc(32, 7);
      const unchanged = encode({ $case: "unchanged", value: { topic, version: versionWith({ digest }) } });
      const batch = Buffer.concat(Array.from({ length: 100 }, () => unchanged));
      await attack(
        (stream) => {
          open(stream).pause();
          if (flags !== undefined) stream.write(snapshot(topic, flags, { digest }));
          void flood(stream, 100, () => batch);
        },
        { initialWindowSize: 0 },
      );
      await eventually(() => proxy.closed > 1, "two streams are ended");
      expect(agent.process.output).to.contain('"reason":"answers_unread"');
      await isWell();
    });
  }

  it("ends a stream of messages that say nothing, beside which it would do little else", async () => {
    const heartbeats = Buffer.concat(
      Array.from({ length: 500 }, () => encode({ $case: "heartbeat", value: {} })),
    );
    await attack((stream) => {
      open(stream).resume();
      void flood(stream, 10_000, () => heartbeats);
    });
    await eventually(() => proxy.closed > 1, "two streams are ended");
    expect(agent.process.output).to.contain('"reason":"flood"');
    await isWell();
  });

  const long = "e".repeat(3_000);
  const floods: Readonly<Record<string, (index: number) => Buffer>> = {
    "refusals of four kinds": (index) => {
      const value = { topic, code: 1 + (index % 4), message: long, retryAfterMs: 1 };
      return encode({ $case: "topicError", value });
    },
    "a topic that is missing, then deleted": (index) =>
      index % 2 === 0
        ? encode({ $case: "missing", value: { topic } })
        : encode({
            $case: "deleted",
            value: { topic, policy: buntingSyncV1.DeletionPolicy.DELETION_POLICY_KEEP },
          }),
    "a topic that is deleted, then there again": (index) =>
      index % 2 === 0
        ? encode({
            $case: "deleted",
            value: { topic, policy: buntingSyncV1.DeletionPolicy.DELETION_POLICY_EMPTY },
          })
        : snapshot(topic, { a: { state: "ENABLED", variants: { a: 1 }, defaultVariant: "a" } }),
    "documents that are refused": () => snapshot(topic, `{"flags":{"${long}":nonsense`),
    "flags that are rejected": (index) => {
      const flag = { state: "ENABLED", variants: { a: 1 }, defaultVariant: `none-${index % 2}` };
      return snapshot(topic, { a: flag, b: flag }, { digest: Buffer.alloc(32, 1 + (index % 2)) });
    },
  };
  for (const [what, message] of Object.entries(floods)) {
    it(`logs a few lines of ${what}`, async () => {
      let sent = 0;
      await attack((stream) => {
        open(stream).resume();
        void flood(stream, floodMessages, (index) => message(index)).then((count) => (sent += count));
      });
      const isOver = async (): Promise<boolean> => sent > 0 && (proxy.closed > 0 || (await taken()) >= sent);
      await eventually(isOver, "the flood is over");
      await isWell();
    });
  }

  it("ends a stream that brings one interim response after the other, in the memory that it has", async () => {
    const pad = "x".repeat(2_000);
    await attack((stream) => {
      const send = (): void => {
        if (stream.destroyed) return;
        for (let sent = 0; sent < 100; sent++) stream.additionalHeaders({ ":status": 103, pad });
        setImmediate(send);
      };
      send();
    });
    await eventually(() => proxy.opened > 2, "another attempt");
    await isWell();
  });

  it("survives streams that break in any way, one after the other, and has the flags of the next", async () => {
    await attack((stream) => {
      const broken = brokenStreams[proxy.opened - 1];
      if (broken !== undefined) broken(stream);
      else if (open(stream).writable) onSubscribe(stream, () => stream.write(snapshot(topic, good)));
    });
    await eventually(async () => (await taken()) > 0, "the flags", 60_000);
    expect(proxy.opened).to.be.greaterThan(brokenStreams.length);
    await isWell();
  });

  it("logs little of a status with 30,000 characters", async () => {
    const trailers = { "grpc-message": "z".repeat(30_000), "grpc-retry-pushback-ms": "0" };
    await attack((stream) => refuse(stream, 14, trailers));
    await eventually(() => proxy.opened > 4, "five attempts");
    await isWell();
  });
});

/** A hundred, with keys of 1,000 characters, which the agent names in each ack. */
function rejectedFlags(): Readonly<Record<string, unknown>> {
  const flag = { state: "ENABLED", variants: { a: 1 }, defaultVariant: "none" };
  return Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`bad-${i}`.padEnd(1_000, "x"), flag]));
}

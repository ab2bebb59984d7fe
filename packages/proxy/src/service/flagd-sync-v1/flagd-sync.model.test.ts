import { expect } from "chai";
import fc from "fast-check";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expectSubsequence } from "@bunting/test/support/expect-subsequence.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RawSyncConnection, type RawSyncStream } from "@bunting/test/support/raw-sync-client.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";

const topic: TopicKey = "demo/flags";
const lingerMs = 30_000;
const graceMs = 60_000;
const empty = '{"flags":{}}';

type Command =
  | { readonly kind: "publish"; readonly version: number; readonly bytes: number }
  | { readonly kind: "delete" | "subscribe" | "turn" }
  | { readonly kind: "cancel" | "pause" | "resume"; readonly which: number }
  | { readonly kind: "advance"; readonly ms: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      version: fc.nat(3),
      // Half of them larger than what may be under way to a stream that is not read.
      bytes: fc.constantFrom(10, 200_000),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("subscribe" as const, "delete" as const) }) },
  { weight: 8, arbitrary: fc.constant({ kind: "turn" as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "pause" as const, "pause" as const, "resume" as const),
      which: fc.nat(20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(lingerMs, graceMs) }),
  },
);

function document(version: number, bytes: number): FlagDocument {
  return { flags: { f: { state: `v${version}` }, padding: { state: "x".repeat(bytes) } } };
}

interface Subscriber {
  readonly stream: RawSyncStream;
  readonly since: number;
  isCancelled: boolean;
}

describe("the proxy from source to socket", () => {
  it("brings every connected subscriber to the last version, whatever happened, and leaves nothing behind", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("keep" as const, "empty" as const, "close" as const),
        fc.array(command, { minLength: 10, maxLength: 60, size: "max" }),
        async (deletionPolicy, commands) => {
          const clock = new ManualClock();
          const options = { context: { clock }, lingerMs, deletionGraceMs: graceMs, deletionPolicy };
          const server = await new SyncServer(options).start();
          const connections = await Promise.all([
            RawSyncConnection.open(server.port),
            RawSyncConnection.open(server.port, 16_384),
            RawSyncConnection.open(server.port, 1_000_000),
          ]);
          const subscribers: Subscriber[] = [];
          const history: string[] = [];
          const isConnected = ({ stream, isCancelled }: Subscriber): boolean =>
            !isCancelled && stream.status === undefined && stream.resetCode === undefined;

          const run = (one: Command): void => {
            switch (one.kind) {
              case "publish":
                history.push(`v${one.version}`);
                server.source.publish(topic, document(one.version, one.bytes));
                break;
              case "delete":
                // Also what never existed here: agents may hold flags that another replica served before it learnt of the deletion.
                if (deletionPolicy === "empty" && history.at(-1) !== empty) history.push(empty);
                server.source.delete(topic);
                break;
              case "subscribe": {
                const stream = connections[subscribers.length % connections.length]?.subscribe(topic);
                const since = Math.max(
                  0,
                  history.findLastIndex((text) => text !== empty),
                );
                if (stream !== undefined) subscribers.push({ stream, since, isCancelled: false });
                break;
              }
              case "advance":
                clock.advance(one.ms);
                break;
              case "turn":
                break;
              default:
                disturb(one.kind, subscribers[one.which % Math.max(1, subscribers.length)]);
            }
          };

          try {
            for (const one of commands) {
              run(one);
              if (one.kind === "turn") await new Promise((resolve) => setTimeout(resolve, 1));
            }
            for (const { stream } of subscribers) stream.resume();
            run({ kind: "publish", version: 9, bytes: 10 });
            await eventually(
              () => subscribers.filter(isConnected).every(({ stream }) => stream.last === "v9"),
              "everyone at the last version",
            );
            for (const { stream, since } of subscribers)
              expectSubsequence(stream.versions, history.slice(since));

            for (const one of subscribers) disturb("cancel", one);
            await eventually(
              () => [...server.topics.topics()].every(({ size }) => size === 0),
              "everyone gone",
            );
            clock.advance(lingerMs + graceMs);
            expect(server.topics.size).to.equal(0);
            expect(server.source.watchCount).to.equal(0);
            expect(clock.pendingTimers).to.equal(0);
          } finally {
            for (const connection of connections) connection.close();
            await server.stop();
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

function disturb(kind: "cancel" | "pause" | "resume", subscriber: Subscriber | undefined): void {
  if (subscriber === undefined) return;
  if (kind === "pause") subscriber.stream.pause();
  else if (kind === "resume") subscriber.stream.resume();
  else {
    subscriber.isCancelled = true;
    subscriber.stream.cancel();
  }
}

import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { mebibyte, Vitals } from "../abuse/support/vitals.js";
import { eventually } from "../support/event-queue.js";
import { expectSubsequence } from "../support/expect-subsequence.js";
import { startProxy } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { scaled } from "../support/scale.js";
import { TempDirectory } from "../support/temp-directory.js";

/** How many do not read. The gate has fewer, and larger documents: what they would cost the proxy is as much. */
const stalledCount = scaled(1_000, 200);
const healthyCount = scaled(1_000, 5);
const edits = scaled(100, 20);
const documentBytes = scaled(100_000, 500_000);
/** Small enough that a document does not fit into it and what a paused node reads ahead (16 KB on Node 20, 64 KB on Node 24). */
const windowBytes = 16_384;

/** A flagd file of that size whose flag `f` holds the version. */
function flags(version: number): string {
  const description = "x".repeat(documentBytes);
  return JSON.stringify({
    flags: {
      f: { state: `v${version}`, variants: { on: true } },
      padding: { state: "DISABLED", variants: { on: description } },
    },
  });
}

/** In this test flagd-proxy grew by 2 GB, and left all the stalled subscribers at version 3 of 100 permanently. */
describe(`${stalledCount} subscribers that do not read beside ${healthyCount} that do, and ${edits} edits of ${documentBytes} bytes`, function () {
  this.timeout(600_000);
  let directory: TempDirectory;
  const connections: RawSyncConnection[] = [];

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close();
    directory.remove();
  });

  async function subscribe(port: number, count: number): Promise<RawSyncStream[]> {
    const streams: RawSyncStream[] = [];
    for (let i = 0; i < count; i += 100) {
      const opening = Array.from({ length: Math.min(100, count - i) }, () =>
        RawSyncConnection.open(port, windowBytes),
      );
      const opened = await Promise.all(opening);
      connections.push(...opened);
      streams.push(...opened.map((connection) => connection.subscribe("default/flags")));
    }
    return streams;
  }

  const allAt = (streams: readonly RawSyncStream[], version: number): Promise<void> =>
    eventually(
      () => streams.every(({ last }) => last === `v${version}`),
      `${streams.length} at v${version}`,
      240_000,
    );

  it("cost the proxy at most 60 MiB, delay no other subscriber, and all end at the last version", async () => {
    directory.replace("flags.json", flags(0));
    // Neither probed nor ended for not reading: on a busy machine the clients of this one process answer late, and read on after more than a minute.
    const unprobed = ["--keepalive-interval", "0", "--stall-timeout", "0"];
    const args = ["--drain-delay", "0", "--drain-window", "0", ...unprobed];
    const proxy = await startProxy(directory.path, args);
    const vitals = new Vitals(proxy.process.pid);
    try {
      const port = Number(proxy.sync.split(":")[1]);
      const stalled = await subscribe(port, stalledCount);
      const healthy = await subscribe(port, healthyCount);
      await allAt([...stalled, ...healthy], 0);
      // A first edit warms up what a broadcast needs; from here on memory depends on the stalled subscribers.
      directory.replace("flags.json", flags(1));
      await allAt([...stalled, ...healthy], 1);
      await delay(500);
      vitals.markWarm();
      for (const stream of stalled) stream.pause();
      for (let version = 2; version <= edits; version++) {
        directory.replace("flags.json", flags(version));
        // Faster than this machine can read all of them: subscribers that read get the newest version when they are ready for it.
        await delay(50);
      }
      await allAt(healthy, edits);
      expect(stalled.filter(({ last }) => last === `v${edits}`)).to.have.length(0);
      for (const stream of stalled) stream.resume();
      await allAt(stalled, edits);
      const history = Array.from({ length: edits + 1 }, (_, version) => `v${version}`);
      for (const { versions } of [...healthy, ...stalled]) expectSubsequence(versions, history);
      // The versions they had, the one in flight when they stopped (on a busy machine a later one than v2), and the last.
      for (const { versions } of stalled)
        expect([versions.length, versions[0], versions[1], versions[3]]).to.deep.equal([
          4,
          "v0",
          "v1",
          `v${edits}`,
        ]);
      vitals.expectGrowth({ below: 60, attack: (stalledCount * documentBytes) / mebibyte });
    } finally {
      vitals.stop();
      for (const connection of connections.splice(0)) connection.close();
      expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    }
  });
});

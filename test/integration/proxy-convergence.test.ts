import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { StalledSubscriber } from "../support/stalled-subscribers.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What everyone who stays connected is promised, seen from outside of a real process, with as many subscribers as broke upstream. */
describe("the proxy's promise that all end at the newest", () => {
  let directory: TempDirectory;
  let proxy: ServiceProcess;
  let sync: string;
  const clients: StockSyncClient[] = [];

  const start = async (): Promise<void> => {
    ({ process: proxy, sync } = await startProxy(directory.path, [
      "--drain-delay",
      "0",
      "--drain-window",
      "0",
    ]));
  };
  const client = (): StockSyncClient => {
    const one = new StockSyncClient(sync);
    clients.push(one);
    return one;
  };

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const one of clients.splice(0)) one.close();
    expect(await proxy.stop(), proxy.output).to.equal(0);
    directory.remove();
  });

  it("reaches each of 1,000 subscribers with the second of two edits 1 to 20 ms apart", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    await start();
    const subscribers = Array.from({ length: 40 }, client).flatMap((one) =>
      Array.from({ length: 25 }, () => one.subscribe({ selector: "default/flags" })),
    );
    const seen = subscribers.map(() => [] as number[]);
    await Promise.all(
      subscribers.map(async ({ messages }, i) => {
        for (;;) {
          const version = versionOf((await messages.nextEvent("the next version")).text);
          seen[i]?.push(version);
          if (version === 1) break;
        }
      }),
    );
    let version = 1;
    for (const apartMs of [1, 2, 3, 5, 8, 10, 13, 20]) {
      const [first, second] = [version + 1, version + 2];
      directory.replace("flags.yaml", manifest("flags", first));
      await delay(apartMs);
      directory.replace("flags.yaml", manifest("flags", second));
      version = second;
      await Promise.all(
        subscribers.map(async ({ messages }, i) => {
          while (seen[i]?.at(-1) !== second) {
            seen[i]?.push(versionOf((await messages.nextEvent(`version ${second}`)).text));
          }
        }),
      );
    }
    for (const versions of seen) {
      expect(versions, "no version twice, none backwards").to.deep.equal(
        [...new Set(versions)].sort((a, b) => a - b),
      );
    }
  });

  it("serves 200 topics that are first subscribed at the same moment", async () => {
    for (let i = 0; i < 200; i++) directory.replace(`f${i}.yaml`, manifest(`topic-${i}`, i + 1));
    await start();
    // As many topics a connection as it may have by default, and no more.
    let one = client();
    const first = await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        if (i % 32 === 31) one = client();
        return one.subscribe({ selector: `default/topic-${i}` }).messages.nextEvent(`topic ${i}`);
      }),
    );
    expect(first.map(({ text }) => versionOf(text))).to.deep.equal(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  });

  it("brings 1,000 subscribers that stalled to the newest version once they read again", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    await start();
    const stalled = Array.from({ length: 1_000 }, () => new StalledSubscriber(sync, "default/flags"));
    try {
      await Promise.all(stalled.map(({ opened }) => opened));
      const healthy = client().subscribe({ selector: "default/flags" });
      for (let version = 2; version <= 30; version++) {
        directory.replace("flags.yaml", manifest("flags", version));
        await healthy.messages.nextMatching(({ text }) => versionOf(text) === version, `version ${version}`);
      }
      for (const one of stalled) one.resume();
      await eventually(() => stalled.every(({ versions }) => versions.at(-1) === 30), "all at version 30");
      for (const { versions } of stalled) {
        expect(versions.length, "versions in between are skipped, not queued").to.be.at.most(3);
      }
    } finally {
      for (const one of stalled) one.destroy();
    }
  });
});

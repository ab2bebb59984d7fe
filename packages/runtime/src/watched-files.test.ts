import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { recordingLogger } from "@bunting/test/support/recording-logger.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { readFile } from "node:fs/promises";
import { WatchedFiles } from "./watched-files.js";

describe("WatchedFiles", () => {
  it("takes a file that could not be read for a while, although it has not changed since, and warns once", async () => {
    const directory = new TempDirectory();
    const clock = new ManualClock();
    const logger = recordingLogger();
    const used: string[] = [];
    const reloads: boolean[] = [];
    let reads = 0;
    let hasDescriptors = true;
    const files = new WatchedFiles({
      ...{ logger, clock, paths: [directory.file("token")], name: "token", effect: "it counts", fields: {} },
      read: () => {
        reads++;
        return hasDescriptors
          ? readFile(directory.file("token"), "utf8")
          : Promise.reject(new Error("EMFILE"));
      },
      use: (text) => void used.push(text),
      summarize: () => ({}),
      onReload: (isUsed) => void reloads.push(isUsed),
    });
    const look = async (): Promise<void> => {
      const before = reads;
      await eventually(() => clock.pendingTimers === 1, "the next look");
      clock.advance(2_000);
      await eventually(() => reads > before && clock.pendingTimers === 1, "its end");
    };
    try {
      directory.replace("token", "one");
      await files.start();
      hasDescriptors = false;
      directory.replace("token", "two");
      for (let times = 0; times < 4; times++) await look();
      expect([used, reloads]).to.deep.equal([["one"], [false]]);
      hasDescriptors = true;
      await look();
      expect([used, reloads]).to.deep.equal([
        ["one", "two"],
        [false, true],
      ]);
      expect(logger.lines.map(({ level }) => level)).to.deep.equal(["warn", "info"]);
    } finally {
      files.stop();
      directory.remove();
    }
  });
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { EventQueue } from "../test/support/event-queue.js";
import { watchFiles } from "./watch-files.js";

describe("watchFiles", () => {
  let directory: string;

  beforeEach(() => {
    directory = realpathSync(mkdtempSync(path.join(tmpdir(), "bunting-test-")));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("reports files that are written one after the other at once, those of folders that are not named never", async () => {
    const [watched, other] = [path.join(directory, "watched"), path.join(directory, "watched/other")];
    mkdirSync(other, { recursive: true });
    const changes = new EventQueue<readonly string[]>();
    const end = watchFiles([watched], (files) => changes.push(files));
    writeFileSync(path.join(other, "c.ts"), "1");
    writeFileSync(path.join(watched, "a.ts"), "1");
    writeFileSync(path.join(watched, "a.ts"), "2");
    writeFileSync(path.join(watched, "b.ts"), "1");
    expect([...(await changes.nextEvent("a change"))].sort()).to.deep.equal(
      ["a.ts", "b.ts"].map((name) => path.join(watched, name)),
    );
    // The next is the next change: nothing was reported twice.
    writeFileSync(path.join(watched, "d.ts"), "1");
    expect(await changes.nextEvent("a second change")).to.deep.equal([path.join(watched, "d.ts")]);
    end();
  });
});

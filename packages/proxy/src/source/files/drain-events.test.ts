import { mkdirSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { useDirectory } from "../source.fixture.js";
import { drainEvents } from "./drain-events.js";

describe("drainEvents", () => {
  const directory = useDirectory();

  it("resolves after all events that were there when it was called", async () => {
    mkdirSync(directory.path);
    const names = new Set<string | null>();
    const watcher = watch(directory.path, (_kind, name) => names.add(name));
    for (let round = 0; round < 50; round++) {
      writeFileSync(join(directory.path, `file-${round}`), "");
      await drainEvents();
      expect(names.has(`file-${round}`), `round ${round}`).to.equal(true);
    }
    watcher.close();
  });
});

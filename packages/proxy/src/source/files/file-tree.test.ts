import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { useDirectory } from "../source.fixture.js";
import type { FileNews } from "./file-news.js";
import { FileTree, type FileTreeOptions } from "./file-tree.js";

describe("FileTree", () => {
  const stopping: (() => Promise<void>)[] = [];
  // Before the hook of the directory, which finds no watch left.
  afterEach(async () => {
    for (const stop of stopping.splice(0)) await stop();
  });
  const directory = useDirectory();
  beforeEach(() => mkdirSync(directory.path));

  /** Runs a tree until it synced; returns what it told so far, and goes on adding to it. */
  async function start(
    options: Partial<FileTreeOptions> = {},
  ): Promise<{ news: FileNews[]; troubles: string[] }> {
    const told = { news: [] as FileNews[], troubles: [] as string[] };
    const stop = new AbortController();
    await new Promise<void>((resolve) => {
      const tree = new FileTree({
        path: directory.path,
        clock: systemClock,
        maxBytes: 1_000,
        descends: true,
        accepts: (name) => name.endsWith(".json"),
        listener: {
          news: (news) => {
            told.news.push(news);
            return Promise.resolve();
          },
          synced: resolve,
          lost: () => undefined,
          found: () => undefined,
          trouble: (_path, error) => told.troubles.push(error.message),
        },
        ...options,
      });
      const running = tree.run(stop.signal);
      stopping.push(() => {
        stop.abort();
        return running;
      });
    });
    return told;
  }

  it("has told every file when it says that it synced, those just written too", async () => {
    for (let file = 0; file < 10; file++) {
      mkdirSync(join(directory.path, `sub-${file}`));
      writeFileSync(join(directory.path, `sub-${file}`, "a.json"), String(file));
    }
    const { news } = await start();
    expect(news.map((one) => (one.kind === "content" ? String(one.bytes) : one.kind)).sort()).to.deep.equal(
      Array.from({ length: 10 }, (_, file) => String(file)),
    );
  });

  it("does not wait for ever for a file that never rests", async () => {
    const path = join(directory.path, "log.json");
    writeFileSync(path, "");
    const writing = setInterval(() => appendFileSync(path, "x"), 3);
    try {
      const { news } = await start();
      expect(news).to.deep.equal([]);
    } finally {
      clearInterval(writing);
    }
  });

  it("leaves out folders beyond its limit and says so once", async () => {
    for (const name of ["a", "b", "c"]) {
      mkdirSync(join(directory.path, name));
      writeFileSync(join(directory.path, name, "x.json"), name);
    }
    const { news, troubles } = await start({ maxDirectories: 2 });
    expect(news).to.have.length(2);
    writeFileSync(join(directory.path, "y.json"), "y");
    while (news.length < 3) await new Promise(setImmediate);
    expect(troubles).to.have.length(1);
    expect(troubles[0]).to.contain("too many directories");
  });
});

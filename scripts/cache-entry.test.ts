import { expect } from "chai";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";

const hourMs = 60 * 60_000;

describe("an entry of the cache", () => {
  const usual = process.env["XDG_CACHE_HOME"];
  let directory: string;
  let folder: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-cache-"));
    process.env["XDG_CACHE_HOME"] = directory;
    folder = path.join(directory, "bunting/tool");
  });
  afterEach(() => {
    if (usual === undefined) delete process.env["XDG_CACHE_HOME"];
    else process.env["XDG_CACHE_HOME"] = usual;
    rmSync(directory, { recursive: true, force: true });
  });

  const fill = (text: string) => (unfinished: string) => writeFileSync(path.join(unfinished, "tool"), text);
  const make = (key: string, text = key): string => new CacheEntry("tool", key).getSync(fill(text));
  const usedBefore = (name: string, ms: number): void => {
    const then = new Date(Date.now() - ms);
    utimesSync(path.join(folder, name), then, then);
  };

  it("is made once, and found by whoever asks for it later", async () => {
    expect(make("key", "first")).to.equal(path.join(folder, "key"));
    expect(make("key", "second")).to.equal(path.join(folder, "key"));
    await new CacheEntry("tool", "key").get(() => Promise.reject(new Error("it is there")));
    expect(readFileSync(path.join(folder, "key/tool"), "utf8")).to.equal("first");
    expect(readdirSync(folder)).to.deep.equal(["key"]);
  });

  it("leaves nothing if it can't be made, and is made by the next who asks", async () => {
    const failure = new Error("half of it is there");
    const entry = new CacheEntry("tool", "key");
    const caught = await entry
      .get((unfinished) => {
        fill("half")(unfinished);
        return Promise.reject(failure);
      })
      .catch((error: unknown) => error);
    expect(caught).to.equal(failure);
    expect(readdirSync(folder)).to.deep.equal([]);
    await entry.get((unfinished) => {
      fill("whole")(unfinished);
      return Promise.resolve();
    });
    expect(readFileSync(path.join(folder, "key/tool"), "utf8")).to.equal("whole");
  });

  it("takes the place of the one that was used longest ago, of which two are kept", () => {
    for (const [index, key] of ["a", "b", "c"].entries()) {
      make(key);
      usedBefore(key, (10 - index) * hourMs);
    }
    make("a");
    make("d");
    expect(readdirSync(folder).sort()).to.deep.equal(["a", "d"]);
  });

  it("leaves those that were used within an hour, which may be running", () => {
    for (const key of ["a", "b", "c"]) make(key);
    usedBefore("a", 0.9 * hourMs);
    make("d");
    expect(readdirSync(folder).sort()).to.deep.equal(["a", "b", "c", "d"]);
  });

  it("removes what killed builds have left, but not what is being built", () => {
    for (const [name, hours] of Object.entries({ ".building-killed": 25, ".building-running": 1 })) {
      mkdirSync(path.join(folder, name), { recursive: true });
      usedBefore(name, hours * hourMs);
    }
    make("key");
    expect(readdirSync(folder).sort()).to.deep.equal([".building-running", "key"]);
    expect(existsSync(path.join(folder, "key/tool"))).to.equal(true);
  });
});

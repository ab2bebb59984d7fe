import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { systemClock, type Clock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import type { FileEvent, FileListener } from "./file-event.js";
import { watchedFile, WatchedDirectory, type WatchedDirectoryOptions } from "./watched-directory.js";

interface Reported {
  readonly events: FileEvent[];
  readonly errors: string[];
  /** Why the directory was lost, and "found". */
  readonly absences: string[];
}

/** A new directory in the memory of the machine, where that is another file system than the path is in. */
function directoryOnOtherDevice(path: string): string | undefined {
  try {
    if (statSync("/dev/shm").dev !== statSync(path).dev) return mkdtempSync("/dev/shm/bunting-test-");
  } catch {
    // There is none, or it is not ours to write to.
  }
  return undefined;
}

describe("WatchedDirectory", () => {
  let directory: TempDirectory;
  let stops: (() => Promise<void>)[];
  beforeEach(() => {
    directory = new TempDirectory();
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    directory.remove();
  });

  /** Runs it until it synced; returns what it reported so far, and goes on adding to it. */
  async function start(
    options: Partial<WatchedDirectoryOptions> = {},
    file?: string,
    answer: FileListener["event"] = () => "done",
  ): Promise<Reported> {
    const reported: Reported = { events: [], errors: [], absences: [] };
    const stop = new AbortController();
    await new Promise<void>((resolve) => {
      const complete: WatchedDirectoryOptions = {
        path: directory.path,
        files: { accepts: (name) => name.endsWith(".json") },
        clock: systemClock,
        limits: { maxBytes: 1_000 },
        listener: {
          event: (event) => {
            reported.events.push(event);
            return answer(event);
          },
          synced: resolve,
          lost: ({ message }) => reported.absences.push(message),
          found: () => reported.absences.push("found"),
          directoryError: (_path, error) => reported.errors.push(error.message),
        },
        ...options,
      };
      const watched = file === undefined ? new WatchedDirectory(complete) : watchedFile(file, complete);
      const running = watched.run(stop.signal);
      stops.push(() => {
        stop.abort();
        return running;
      });
    });
    return reported;
  }

  const textsOf = ({ events }: Reported): string[] =>
    events.map((event) => (event.kind === "content" ? String(event.bytes) : event.kind));

  it("has reported every file when it has synced, just written ones too, in the order of their paths", async () => {
    for (const name of ["c", "a", "b"]) {
      mkdirSync(directory.file(name));
      writeFileSync(directory.file(`${name}/x.json`), name);
    }
    writeFileSync(directory.file("bb.json"), "bb");
    expect(textsOf(await start())).to.deep.equal(["a", "b", "bb", "c"]);
  });

  it("passes over node_modules, at its start and later, and over names that start with a dot", async () => {
    for (const name of ["node_modules", "flags", ".git"]) {
      mkdirSync(directory.file(`${name}/of`), { recursive: true });
      writeFileSync(directory.file(`${name}/of/x.json`), name);
    }
    const reported = await start();
    mkdirSync(directory.file("flags/node_modules"));
    writeFileSync(directory.file("flags/node_modules/y.json"), "later");
    writeFileSync(directory.file("flags/z.json"), "the newest");
    await eventually(() => reported.events.length > 1, "a later file");
    expect(textsOf(reported)).to.deep.equal(["flags", "the newest"]);
  });

  it("reads files that nobody has touched for long at once, when it starts", async () => {
    for (const name of ["b.json", "a.json"]) writeFileSync(directory.file(name), name);
    // Seconds later, and in no time: a rest would never end.
    const clock: Clock = { ...systemClock, now: () => Date.now() + 5_000, monotonicMs: () => 0 };
    expect(textsOf(await start({ clock }))).to.deep.equal(["a.json", "b.json"]);
  });

  it("does not wait for ever for a file that never rests", async () => {
    const path = directory.file("log.json");
    writeFileSync(path, "");
    const writing = setInterval(() => appendFileSync(path, "x"), 3);
    try {
      expect((await start()).events).to.deep.equal([]);
    } finally {
      clearInterval(writing);
    }
  });

  it("leaves out folders beyond its limit, never one that it has, and says so once", async () => {
    for (const name of ["m", "n", "o"]) {
      mkdirSync(directory.file(name));
      writeFileSync(directory.file(`${name}/x.json`), name);
    }
    const reported = await start({ limits: { maxBytes: 1_000, maxDirectories: 2 } });
    expect(reported.events).to.have.length(2);
    mkdirSync(directory.file("a"));
    writeFileSync(directory.file("y.json"), "y");
    await eventually(() => reported.events.length === 3, "the third file");
    expect(textsOf(reported).at(-1)).to.equal("y");
    const aboutFirst = reported.errors.filter((message) => !message.includes(directory.file("a")));
    expect(aboutFirst).to.have.length(1);
    expect(aboutFirst[0]).to.contain("too many directories");
  });

  it("says of files and folders whose names are no UTF-8 that they are not read", async function () {
    // Other systems refuse such names.
    if (process.platform !== "linux") this.skip();
    writeFileSync(directory.file("\uFFFD.json"), "1");
    writeFileSync(Buffer.from(directory.file("gr\xfcn.json"), "latin1"), "2");
    writeFileSync(Buffer.from(directory.file("gr\xfcn.txt"), "latin1"), "3");
    mkdirSync(Buffer.from(directory.file("gr\xfcn"), "latin1"));
    const reported = await start();
    expect(textsOf(reported)).to.deep.equal(["1"]);
    expect(reported.errors).to.have.length(1);
    expect(reported.errors[0]).to.contain("and 1 more").and.contain("no UTF-8");
  });

  it("is lost while there are more files than it may know of, in all directories or in one", async () => {
    for (const name of ["a", "b"]) mkdirSync(directory.file(name));
    for (const name of ["a/1.json", "a/2.json", "b/3.json"]) writeFileSync(directory.file(name), name);
    const reported = await start({ limits: { maxBytes: 1_000, maxFiles: 3 }, rescanEveryMs: 20 });
    expect(reported.events).to.have.length(3);
    writeFileSync(directory.file("b/4.json"), "4");
    await eventually(() => reported.absences.length === 1, "four files in two directories");
    expect(reported.absences[0]).to.contain("it has more than 3 files");
    rmSync(directory.file("a"), { recursive: true });
    await eventually(() => textsOf(reported).includes("4"), "the new one of two files");
    expect(reported.absences.slice(1)).to.deep.equal(["found"]);
    for (const name of ["5", "6"]) writeFileSync(directory.file(`b/${name}.json`), name);
    await eventually(() => reported.absences.length === 3, "four files in one directory");
  });

  it("is lost while its files have more bytes than it may hold, without those that are too large to be read", async () => {
    writeFileSync(directory.file("large.json"), "x".repeat(101));
    writeFileSync(directory.file("a.json"), "x".repeat(100));
    const reported = await start({ limits: { maxBytes: 100, maxTotalBytes: 150 }, rescanEveryMs: 20 });
    expect(reported.events.map(({ kind }) => kind)).to.have.members(["tooLarge", "content"]);
    writeFileSync(directory.file("b.json"), "x".repeat(51));
    await eventually(() => reported.absences.length === 1, "too many bytes");
    expect(reported.absences[0]).to.contain("it has more than 150 bytes in its files");
  });

  it("enters each directory once, by its own path, however many links lead to it", async () => {
    for (const name of ["one", "two", "three"]) {
      mkdirSync(directory.file(name));
      writeFileSync(directory.file(`${name}/${name}.json`), name);
    }
    for (const name of ["one", "two", "three"]) {
      for (const other of ["one", "two", "three"])
        symlinkSync(`../${other}`, directory.file(`${name}/to-${other}`));
    }
    symlinkSync("three", directory.file("a-link"));
    const reported = await start();
    expect(reported.events.map(({ path }) => path)).to.deep.equal(
      ["one/one.json", "three/three.json", "two/two.json"].map((name) => directory.file(name)),
    );
  });

  it("reports equal bytes once, whatever else happens to the file", async () => {
    writeFileSync(directory.file("a.json"), "1");
    const reported = await start();
    directory.replace("a.json", "1");
    writeFileSync(directory.file("b.json"), "2");
    await eventually(() => reported.events.length > 1, "the other file");
    writeFileSync(directory.file("c.json"), "3");
    await eventually(() => reported.events.length > 2, "a later file");
    expect(textsOf(reported)).to.deep.equal(["1", "2", "3"]);
  });

  it("reports the new target of a swapped link once, and nothing in between", async () => {
    mkdirSync(directory.file("..v1"));
    mkdirSync(directory.file("..v2"));
    writeFileSync(directory.file("..v1/a.json"), "1");
    writeFileSync(directory.file("..v2/a.json"), "2");
    symlinkSync("..v1", directory.file("..data"));
    symlinkSync("..data/a.json", directory.file("a.json"));
    const reported = await start();
    symlinkSync("..v2", directory.file("..next"));
    renameSync(directory.file("..next"), directory.file("..data"));
    await eventually(() => reported.events.length > 1, "what the link leads to");
    writeFileSync(directory.file("c.json"), "3");
    await eventually(() => reported.events.length > 2, "a later file");
    expect(textsOf(reported)).to.deep.equal(["1", "2", "3"]);
  });

  it("asks the listener again for what it could not take, until it can", async () => {
    writeFileSync(directory.file("a.json"), "1");
    let tries = 0;
    const reported = await start({ rescanEveryMs: 20 }, undefined, () => (++tries < 5 ? "retry" : "done"));
    await eventually(() => tries === 5, "the fifth try");
    writeFileSync(directory.file("b.json"), "2");
    await eventually(() => tries === 6, "a later file");
    expect(textsOf(reported)).to.deep.equal(["1", "1", "1", "1", "1", "2"]);
    expect(reported.events.map((event) => event.kind === "content" && event.isRetry)).to.deep.equal([
      false,
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it("waits quietly for a directory that vanished while a file in it rested", async () => {
    mkdirSync(directory.file("flags"));
    writeFileSync(directory.file("flags/a.json"), "1");
    let asked = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => (asked++, systemClock.monotonicMs()) };
    const reported = await start({ path: directory.file("flags"), clock });
    writeFileSync(directory.file("flags/a.json"), "2");
    await wait(10);
    renameSync(directory.file("flags"), directory.file("away"));
    // It becomes quiet at some time; one that looks again and again never does.
    await eventually(async () => {
      asked = 0;
      await wait(200);
      return asked === 0;
    }, "no more looks at the clock");
    renameSync(directory.file("away"), directory.file("flags"));
    await eventually(() => textsOf(reported).at(-1) === "2", "what was written before");
  });

  it("watches one file of a directory, also one whose name starts with a dot", async () => {
    writeFileSync(directory.file(".a.json"), "1");
    writeFileSync(directory.file("b.json"), "2");
    expect(textsOf(await start({}, directory.file(".a.json")))).to.deep.equal(["1"]);
  });

  it("reports an edit before the rest of many large files that appeared earlier", async () => {
    const names: string[] = [];
    const reported = await start(
      { limits: { maxBytes: 100_000 } },
      undefined,
      async ({ path }): Promise<"done"> => {
        names.push(basename(path));
        if (path.includes("large")) await wait(60);
        return "done";
      },
    );
    for (let i = 0; i < 10; i++) writeFileSync(directory.file(`large${i}.json`), `${i}`.repeat(50_000));
    await eventually(() => reported.events.length > 0, "the first of them");
    writeFileSync(directory.file("z.json"), "z");
    await eventually(() => reported.events.length === 11, "all");
    expect(names.indexOf("z.json")).to.be.lessThan(6);
  });

  it("says once for each reason what is left out, however many directories that are", async () => {
    for (let i = 0; i < 50; i++) mkdirSync(directory.file(`d${i}`));
    symlinkSync("/", directory.file("to-root"));
    symlinkSync(dirname(directory.path), directory.file("to-parent"));
    const reported = await start({ limits: { maxBytes: 1_000, maxDirectories: 2 }, rescanEveryMs: 20 });
    mkdirSync(directory.file("e"));
    writeFileSync(directory.file("x.json"), "x");
    await eventually(() => reported.events.length === 1, "the file");
    await wait(80);
    expect(reported.errors).to.have.length(2);
    expect(reported.errors.join()).to.match(/and 47 more, because there are too many/);
    expect(reported.errors.join()).to.match(/and 1 more, because they lead to directories that hold/);
  });

  describe("when another directory takes the place of one", () => {
    let other: string | undefined;
    beforeEach(() => {
      other = directoryOnOtherDevice(directory.path);
      mkdirSync(directory.file("flags"));
      writeFileSync(directory.file("flags/a.json"), "1");
      mkdirSync(directory.file("empty"));
      symlinkSync("flags", directory.file("root"));
    });
    afterEach(() => {
      if (other !== undefined) rmSync(other, { recursive: true });
    });

    function swap(target: string, name = "root"): void {
      symlinkSync(target, directory.file("next"));
      renameSync(directory.file("next"), directory.file(name));
    }

    it("takes an empty one of the same file system for a deletion, by a link or by its name", async () => {
      const byLink = await start({ path: directory.file("root") });
      swap("empty");
      await eventually(() => byLink.events.at(-1)?.kind === "gone", "the deletion");
      expect(byLink.absences).to.deep.equal([]);
      const byName = await start({ path: directory.file("flags") });
      renameSync(directory.file("flags"), directory.file("former"));
      renameSync(directory.file("empty"), directory.file("flags"));
      await eventually(() => byName.events.at(-1)?.kind === "gone", "the deletion");
    });

    it("takes an empty one of another file system for an unmounted volume, until there are files", async function () {
      if (other === undefined) this.skip();
      const reported = await start({ path: directory.file("root") });
      swap(other);
      await eventually(() => reported.absences.length === 1, "it is away");
      expect(reported.absences[0]).to.contain("as when a volume was unmounted: mount it again");
      writeFileSync(`${other}/README`, "no flags");
      await wait(60);
      expect(textsOf(reported)).to.deep.equal(["1"]);
      writeFileSync(`${other}/b.json`, "2");
      await eventually(() => reported.events.length === 3, "what is there now");
      expect(reported.absences.slice(1)).to.deep.equal(["found"]);
      expect(textsOf(reported).sort()).to.deep.equal(["1", "2", "gone"]);
    });

    it("reads the volume again when it is back, and then believes that a file is gone", async function () {
      if (other === undefined) this.skip();
      writeFileSync(directory.file("flags/b.json"), "2");
      const reported = await start({ path: directory.file("root") });
      swap(other);
      await eventually(() => reported.absences.length === 1, "it is away");
      rmSync(directory.file("flags/a.json"));
      writeFileSync(directory.file("flags/b.json"), "3");
      swap("flags");
      await eventually(() => reported.events.length === 4, "both changes");
      expect(textsOf(reported).sort()).to.deep.equal(["1", "2", "3", "gone"]);
    });

    it("reports the files of a volume below it as unreadable, not as gone", async function () {
      if (other === undefined) this.skip();
      mkdirSync(directory.file("tree"));
      symlinkSync("../flags", directory.file("tree/volume"));
      writeFileSync(directory.file("tree/x.json"), "x");
      const reported = await start({ path: directory.file("tree") });
      symlinkSync(other, directory.file("next"));
      renameSync(directory.file("next"), directory.file("tree/volume"));
      await eventually(() => reported.events.length === 3, "the file of the volume");
      expect(textsOf(reported)).to.deep.equal(["1", "x", "unreadable"]);
      expect(reported.errors.join()).to.contain("as when a volume was unmounted");
      writeFileSync(directory.file("tree/y.json"), "y");
      await eventually(() => reported.events.length === 4, "another file");
      rmSync(directory.file("tree/volume"));
      await eventually(() => textsOf(reported).at(-1) === "gone", "the deletion of the directory itself");
    });

    it("waits for a single file, too", async function () {
      if (other === undefined) this.skip();
      const reported = await start({}, directory.file("root/a.json"));
      swap(other);
      await eventually(() => reported.absences.length === 1, "it is away");
      writeFileSync(`${other}/a.json`, "2");
      await eventually(() => textsOf(reported).at(-1) === "2", "the file");
      expect(textsOf(reported)).to.deep.equal(["1", "2"]);
    });
  });

  it("reads nothing of proc, where everything changes at every look, and rests then", async () => {
    symlinkSync("/proc", directory.file("proc"));
    symlinkSync("/proc/self/status", directory.file("status.json"));
    writeFileSync(directory.file("x.json"), "x");
    let asked = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => (asked++, systemClock.monotonicMs()) };
    const reported = await start({ clock });
    // It becomes quiet at some time; one that looks again and again never does.
    await eventually(async () => {
      asked = 0;
      await wait(200);
      return asked === 0;
    }, "no more looks at the clock");
    expect(textsOf(reported)).to.deep.equal(["x"]);
    expect(reported.errors).to.have.length(1);
  });
});

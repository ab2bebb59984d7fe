import { decodeVersion, type DocumentVersion } from "@bunting/sync-client/messages";
import { buntingSyncV1 } from "@bunting/protocol";
import { createLogger, systemClock, type Clock, type Logger } from "@bunting/runtime";
import { expect } from "chai";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { testSeed } from "@bunting/test/support/seed.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { lastKnownGoodFile, type CopySource } from "./last-known-good-file.js";
import { LastKnownGood } from "./last-known-good.js";
import { noStoreMetrics } from "./store-metrics.fixture.js";

const proxy: CopySource = { provider: "grpc", uri: "proxy:8015", selector: "demo/a" };
const sameProxy: CopySource = { ...proxy, selector: "demo/b" };
const newer = Buffer.from('{"flags":{"a":{}}}');
const maxDocumentBytes = 1_000_000;
const older = Buffer.from('{"flags":{}}');

describe("LastKnownGood", () => {
  let directory: TempDirectory;
  let logLines: string[];
  beforeEach(() => {
    directory = new TempDirectory();
    logLines = [];
  });
  afterEach(() => directory.remove());

  const lastKnownGoodOf = (
    sources: readonly CopySource[],
    options: { path?: string; clock?: Clock; failed?: () => void } = {},
  ) =>
    new LastKnownGood({
      maxDocumentBytes,
      directory: options.path ?? directory.path,
      sources,
      context: {
        logger: logInto(logLines),
        clock: options.clock ?? systemClock,
        metrics: { ...noStoreMetrics, lastKnownGoodFailed: options.failed ?? (() => undefined) },
      },
    });
  const loadAll = async (sources: readonly CopySource[]): Promise<Record<number, string>> => {
    const loaded: Record<number, string> = {};
    await lastKnownGoodOf(sources).load((index, { bytes }) => {
      loaded[index] = bytes.toString();
      return true;
    });
    return loaded;
  };
  const fileOf = (source: CopySource) => lastKnownGoodFile(directory.path, source, maxDocumentBytes);
  const copyOf = (source: CopySource) => fileOf(source).load((copy) => copy);
  const keepOnDisk = async (source: CopySource, document: Buffer): Promise<string> => {
    const lastKnownGood = lastKnownGoodOf([source]);
    lastKnownGood.keep(0, document);
    await lastKnownGood.flush();
    return fileOf(source).path;
  };

  it("gives back the newest document of each source, also where sources share a URI", async () => {
    const lastKnownGood = lastKnownGoodOf([proxy, sameProxy]);
    lastKnownGood.keep(0, older);
    lastKnownGood.keep(1, older);
    lastKnownGood.keep(1, newer);
    await lastKnownGood.flush();
    expect(await loadAll([sameProxy, proxy])).to.deep.equal({ 0: newer.toString(), 1: older.toString() });
  });

  it("loads nothing from an empty directory, and is disabled without a directory", async () => {
    expect(await loadAll([proxy])).to.deep.equal({});
    const off = lastKnownGoodOf([proxy], { path: "" });
    off.keep(0, newer);
    await off.flush();
    await off.load(() => expect.fail("nothing to load"));
    expect(logLines).to.deep.equal([]);
  });

  it("writes no URI of a source into the directory, because it might contain a secret", async () => {
    await keepOnDisk({ provider: "http", uri: "https://user:hunter2@host", selector: "" }, newer);
    const [name = ""] = readdirSync(directory.path);
    expect(name).to.match(/^[0-9a-f]{64}\.flags$/);
    expect(readFileSync(directory.file(name), "utf8")).to.not.contain("hunter2");
  });

  const damages: readonly [name: string, damage: (content: Buffer) => Buffer, reason: RegExp][] = [
    ["is cut short", (content) => content.subarray(0, -1), /bytes/],
    ["has a flipped bit", (content) => Buffer.concat([content.subarray(0, -1), Buffer.from(";")]), /content/],
    ["is empty", () => Buffer.alloc(0), /version/],
    ["is of something else", () => Buffer.from('{"flags":{}}\n'), /version/],
    [
      "is of a later version",
      (content) => Buffer.from(content.toString().replace("good 2", "good 3")),
      /version/,
    ],
    [
      "has another version than was written",
      (content) => Buffer.from(content.toString().replace(/ \S*\n/, ` ${"A".repeat(44)}\n`)),
      /content/,
    ],
    [
      "belongs to another source",
      (content) => Buffer.from(content.toString().replace(/ [0-9a-f]{64} /, ` ${"0".repeat(64)} `)),
      /source/,
    ],
  ];
  for (const [name, damage, reason] of damages) {
    it(`ignores a file that ${name}, and says so`, async () => {
      const file = await keepOnDisk(proxy, newer);
      writeFileSync(file, damage(readFileSync(file)));
      expect(await loadAll([proxy])).to.deep.equal({});
      expect(logLines).to.have.length(1);
      expect(logLines[0]).to.match(reason).and.contain("was not loaded").and.contain(`${file}.refused`);
      expect(readdirSync(directory.path)).to.deep.equal([`${path.basename(file)}.refused`]);
      expect(await loadAll([proxy])).to.deep.equal({});
      expect(logLines, "it is not read again").to.have.length(1);
    });
  }

  const unreadable: readonly [name: string, make: (file: string) => void, reason: RegExp][] = [
    ["a named pipe", (file) => execFileSync("mkfifo", [file]), /not a regular file/],
    ["a link to a device", (file) => symlinkSync("/dev/zero", file), /not a regular file/],
    ["a link to itself", (file) => symlinkSync(file, file), /ELOOP/],
    ["a directory", (file) => mkdirSync(file), /not a regular file/],
    ["larger than a document may be", (file) => writeSparse(file, 3e9), /3000000000 bytes, and .* 1000000/],
  ];
  for (const [name, make, reason] of unreadable) {
    it(`does not read what is ${name}, and sets it aside`, async () => {
      const file = fileOf(proxy).path;
      make(file);
      expect(await loadAll([proxy])).to.deep.equal({});
      expect(logLines.join()).to.match(reason).and.contain(`${file}.refused`);
      expect(readdirSync(directory.path)).to.deep.equal([`${path.basename(file)}.refused`]);
      await keepOnDisk(proxy, newer);
      expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
    });
  }

  it("is not kept from loading for ever by directories in the place of its other files", async () => {
    const file = await keepOnDisk(proxy, older);
    for (const suffix of ["loading", "refused"]) mkdirSync(`${file}.${suffix}/x`, { recursive: true });
    expect(await loadAll([proxy])).to.deep.equal({});
    expect(readdirSync(directory.path)).to.deep.equal([`${path.basename(file)}.refused`]);
    mkdirSync(`${file}.loading`);
    expect(await loadAll([proxy])).to.deep.equal({});
    await keepOnDisk(proxy, newer);
    expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
  });

  it("writes the copy although there is a directory in its place, which it sets aside", async () => {
    const file = fileOf(proxy).path;
    mkdirSync(`${file}/x`, { recursive: true });
    await keepOnDisk(proxy, newer);
    expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
    expect(readdirSync(`${file}.refused`)).to.deep.equal(["x"]);
  });

  it("has left its marker by the time it reads the file", async () => {
    const file = await keepOnDisk(proxy, newer);
    const names = await fileOf(proxy).load(() => readdirSync(directory.path));
    expect(names).to.deep.equal(["", ".loading"].map((suffix) => path.basename(file) + suffix));
  });

  it("sets a file aside that was refused, one for each source, and writes the next document", async () => {
    const file = await keepOnDisk(proxy, older);
    for (const document of [older, newer]) {
      const lastKnownGood = lastKnownGoodOf([proxy]);
      await lastKnownGood.load(() => false);
      lastKnownGood.keep(0, document);
      await lastKnownGood.flush();
    }
    expect(readdirSync(directory.path).sort()).to.deep.equal(
      ["", ".refused"].map((suffix) => path.basename(file) + suffix),
    );
    expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
    expect(logLines).to.have.length(2);
  });

  it("loads a file again that one agent did not survive, and sets it aside after two in a row", async () => {
    const crash = new Error("as if the process ended here");
    const loadAndEnd = async (): Promise<void> => {
      const loading = lastKnownGoodOf([proxy]).load(() => {
        throw crash;
      });
      expect(await loading.catch((error: unknown) => error)).to.equal(crash);
    };
    const file = await keepOnDisk(proxy, newer);
    for (let round = 0; round < 2; round++) {
      await loadAndEnd();
      // One that was killed while it started.
      expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
    }
    expect(logLines).to.deep.equal([]);
    await loadAndEnd();
    await loadAndEnd();
    expect(await loadAll([proxy])).to.deep.equal({});
    expect(logLines[0]).to.contain("two processes ended while they took it over");
    expect(readdirSync(directory.path)).to.deep.equal([`${path.basename(file)}.refused`]);
    await keepOnDisk(proxy, older);
    expect(await loadAll([proxy])).to.deep.equal({ 0: older.toString() });
  });

  it("goes on without copies where the directory is not writable: one warning, and each failure counted, also of what is tried once more at the end", async () => {
    writeFileSync(directory.file("file"), "");
    let failures = 0;
    const lastKnownGood = lastKnownGoodOf([proxy, sameProxy], {
      path: path.join(directory.path, "file/cache"),
      failed: () => failures++,
    });
    lastKnownGood.keep(0, newer);
    lastKnownGood.keep(1, newer);
    await lastKnownGood.flush();
    lastKnownGood.keep(0, older);
    await lastKnownGood.flush();
    expect(failures).to.equal(6);
    expect(logLines.filter((line) => line.includes("can't write"))).to.have.length(1);
  });

  it("writes what failed as soon as the disk takes it, and only the newest", async () => {
    writeFileSync(directory.file("cache"), "");
    const clock = new ManualClock();
    let failures = 0;
    const lastKnownGood = lastKnownGoodOf([proxy], {
      path: directory.file("cache"),
      clock,
      failed: () => failures++,
    });
    lastKnownGood.keep(0, older);
    await eventually(() => clock.pendingTimers === 1, "the first try");
    lastKnownGood.keep(0, newer);
    for (const [pauseMs, tries] of [
      [2_000, 2],
      [4_000, 3],
      [8_000, 4],
      [16_000, 5],
      [30_000, 6],
      [30_000, 7],
    ] as const) {
      clock.advance(pauseMs - 1);
      expect(clock.pendingTimers).to.equal(1);
      clock.advance(1);
      await eventually(() => failures === tries && clock.pendingTimers === 1, `try ${tries}`);
    }
    rmSync(directory.file("cache"));
    clock.advance(30_000);
    await eventually(() => existsSync(directory.file("cache")), "the directory");
    await lastKnownGood.flush();
    const copy = await lastKnownGoodFile(directory.file("cache"), proxy, maxDocumentBytes).load((one) => one);
    expect(copy?.bytes.toString()).to.equal(newer.toString());
    expect(logLines, "one warning").to.have.length(1);
  });

  it("creates the directory if it does not exist", async () => {
    const lastKnownGood = lastKnownGoodOf([proxy], { path: directory.file("deep/cache") });
    lastKnownGood.keep(0, newer);
    await lastKnownGood.flush();
    expect(existsSync(directory.file("deep/cache"))).to.equal(true);
  });

  it("writes the first of a burst at once, then only the newest, after a pause", async () => {
    const clock = new ManualClock();
    const lastKnownGood = lastKnownGoodOf([proxy], { clock });
    const isOnDisk = async (text: string): Promise<boolean> =>
      (await copyOf(proxy))?.bytes.toString() === text;
    lastKnownGood.keep(0, Buffer.from("0"));
    await eventually(() => clock.pendingTimers === 1, "the pause");
    expect(await isOnDisk("0")).to.equal(true);
    for (let i = 1; i <= 100; i++) lastKnownGood.keep(0, Buffer.from(String(i)));
    expect(await isOnDisk("0")).to.equal(true);
    clock.advance(1_000);
    await eventually(() => isOnDisk("100"), "the newest document");
    await lastKnownGood.flush();
    clock.advance(1_000);
    expect(await isOnDisk("100")).to.equal(true);
  });

  it("keeps the version by which the source knows the document, and writes it again when only that is newer", async () => {
    for (const generation of ["1", "2"]) {
      const lastKnownGood = lastKnownGoodOf([proxy]);
      const version = versionOf({ uid: "u", generation, resourceVersion: "7" });
      lastKnownGood.keep(0, newer, version);
      await lastKnownGood.flush();
      expect(await copyOf(proxy)).to.deep.equal({
        bytes: newer,
        version,
      });
    }
  });

  it("keeps a document without its version if that is longer than any version is", async () => {
    const lastKnownGood = lastKnownGoodOf([proxy]);
    lastKnownGood.keep(0, newer, { digest: Buffer.alloc(32, 7), encoded: Buffer.alloc(2_000) });
    await lastKnownGood.flush();
    expect(await copyOf(proxy)).to.deep.equal({
      bytes: newer,
      version: undefined,
    });
  });

  it("removes a document, also one that is being written or is still to be written", async () => {
    await keepOnDisk(proxy, older);
    const lastKnownGood = lastKnownGoodOf([proxy]);
    lastKnownGood.keep(0, newer);
    lastKnownGood.forget(0);
    await lastKnownGood.flush();
    expect(readdirSync(directory.path)).to.deep.equal([]);
    lastKnownGood.forget(0);
    lastKnownGood.keep(0, older);
    await lastKnownGood.flush();
    expect(await loadAll([proxy])).to.deep.equal({ 0: older.toString() });
    expect(logLines).to.deep.equal([]);
  });

  it("does not write a document that is on disk already", async () => {
    const file = await keepOnDisk(proxy, newer);
    utimesSync(file, 1, 1);
    const lastKnownGood = lastKnownGoodOf([proxy]);
    await lastKnownGood.load(() => true);
    lastKnownGood.keep(0, Buffer.from(newer));
    await lastKnownGood.flush();
    const [name = ""] = readdirSync(directory.path);
    expect(statSync(directory.file(name)).mtimeMs).to.equal(1_000);
  });

  it("writes a document again that somebody else has replaced, also by one of the same size", async () => {
    const other = Buffer.from(newer.toString().replace('"a"', '"b"'));
    const lastKnownGood = lastKnownGoodOf([proxy]);
    lastKnownGood.keep(0, newer);
    await lastKnownGood.flush();
    await keepOnDisk(proxy, other);
    expect(await loadAll([proxy])).to.deep.equal({ 0: other.toString() });
    lastKnownGood.keep(0, newer);
    await lastKnownGood.flush();
    expect(await loadAll([proxy])).to.deep.equal({ 0: newer.toString() });
  });

  it("is complete after a writer was killed at any moment, and temporary files are removed", async () => {
    const script = path.join(import.meta.dirname, "last-known-good-writer.child.ts");
    const writer = spawn(
      process.execPath,
      ["--conditions=@bunting/source", "--import=tsx", script, directory.path],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await once(writer.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, seededRandom(testSeed)() * 20));
    writer.kill("SIGKILL");
    await once(writer, "exit");
    const source = { provider: "file", uri: "written", selector: "" };
    const document = await copyOf(source);
    expect(document?.bytes.toString()).to.match(/^(x+) \d+$/);
    const leftover = `${fileOf(source).path}.1.tmp`;
    writeFileSync(leftover, "half");
    utimesSync(leftover, 1, 1);
    await loadAll([source]);
    expect(existsSync(leftover)).to.equal(false);
  });
});

/** A clock whose timers fire when the test says so. */
function writeSparse(file: string, sizeBytes: number): void {
  writeFileSync(file, "");
  truncateSync(file, sizeBytes);
}

function versionOf(fields: Partial<buntingSyncV1.Version>): DocumentVersion {
  const message = { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(32, 7), ...fields };
  return decodeVersion(Buffer.from(buntingSyncV1.Version.encode(message).finish()));
}

function logInto(lines: string[]): Logger {
  const write = (line: string): void => {
    if (!line.includes('"info"')) lines.push(line);
  };
  return createLogger({ format: "json", debug: true }, { write });
}

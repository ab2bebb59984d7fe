import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "@bunting/test/support/event-queue.js";
import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { crowdedOutText, ProxyError } from "../../proxy-error.js";
import {
  flags,
  ManualClock,
  manifest,
  noWatchLeft,
  RecordingSink,
  textOf,
  useDirectory,
} from "../source.fixture.js";
import { DirectorySource } from "./directory-source.js";

interface Frozen {
  readonly clock: ManualClock;
  readonly sink: RecordingSink;
  /** Fails if what was done to the files so far is reported at once, without time that passes. */
  readonly nothingAtOnce: () => Promise<void>;
}

describe("DirectorySource", () => {
  const directory = useDirectory();
  const at = (...names: string[]): string => join(directory.path, ...names);
  const put = (name: string, text: string | object): void => {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), typeof text === "string" ? text : JSON.stringify(text));
  };
  /** As careful writers do: the name never stands for less than the whole. */
  const replace = (name: string, text: string | object): void => {
    put("..writing", text);
    renameSync(at("..writing"), at(name));
  };

  /** Lets time pass until a document is reported. */
  const textInTime = async (clock: ManualClock, sink: RecordingSink): Promise<string> => {
    const before = sink.events.length;
    while (sink.events.length === before) await clock.advance(1);
    return sink.nextText();
  };

  beforeEach(() => mkdirSync(directory.path));

  describe("what it serves", () => {
    it("serves manifests and flagd files, in sub-folders too", async () => {
      put("a.yaml", `${manifest("one", 1)}---\n${manifest("two", 2, "team")}`);
      put("sub/deep/b.yml", manifest("three", 3));
      put("plain.json", flags(4));
      const source = await directory.start();
      expect(await source.watch("default/one").nextText()).to.equal(textOf(1));
      expect(await source.watch("team/two").nextText()).to.equal(textOf(2));
      expect(await source.watch("default/three").nextText()).to.equal(textOf(3));
      expect(await source.watch("default/plain").nextText()).to.equal(textOf(4));
    });

    it("knows whom a FeatureFlag is shared with, as its file changes", async () => {
      const shared = (readers: string): string =>
        manifest("one", 1).replace(
          "metadata:",
          `metadata:\n  annotations: { bunting.dev/readers: "${readers}" }`,
        );
      put("a.yaml", shared("team-a"));
      const source = await directory.start();
      const sink = source.watch("default/one");
      expect(await sink.nextText()).to.equal(textOf(1));
      const readersOf = (topic: TopicKey): string => {
        const readers = source.source.readersOf?.(topic);
        return typeof readers === "object" ? [...readers].join() : String(readers);
      };
      expect(readersOf("default/one")).to.equal("team-a");
      expect(readersOf("default/missing")).to.equal("undefined");
      replace("a.yaml", shared("team-b"));
      await eventually(() => readersOf("default/one") === "team-b", "the other reader");
      unlinkSync(at("a.yaml"));
      await eventually(() => readersOf("default/one") === "undefined", "no reader");
    });

    it("passes over hidden files and folders, other extensions, and what is no file", async () => {
      put(".hidden.json", flags(1));
      put(".git/config.json", flags(1));
      put("flags.json.bak", flags(1));
      execFileSync("mkfifo", [at("pipe.json")]);
      mkdirSync(at("folder.json"));
      symlinkSync("nowhere.json", at("dangling.json"));
      const source = await directory.start();
      for (const name of [".hidden", "config", "flags", "pipe", "folder", "dangling"]) {
        expect((await source.watch(`default/${name}`).next()).kind, name).to.equal("missing");
      }
      expect(source.logged("error")).to.deep.equal([]);
    });

    it("reports nothing from within the call, and what is missing only once all was read", async () => {
      put("a.json", flags(1));
      const source = directory.run((options) => new DirectorySource(options));
      const [there, absent] = [source.watch("default/a"), source.watch("default/b")];
      expect(source.source.hasSynced).to.equal(false);
      expect([...there.events, ...absent.events]).to.deep.equal([]);
      await source.synced();
      expect(await there.nextText()).to.equal(textOf(1));
      expect((await absent.next()).kind).to.equal("missing");
      const late = source.watch("default/c");
      expect(late.events).to.deep.equal([]);
      expect((await late.next()).kind).to.equal("missing");
    });

    it("reports nothing to a topic whose signal aborted", async () => {
      const source = await directory.start();
      const stopping = new AbortController();
      const sink = source.watch("default/a", stopping.signal);
      expect((await sink.next()).kind).to.equal("missing");
      stopping.abort();
      put("a.json", flags(1));
      const other = source.watch("default/a");
      await other.until(textOf(1));
      expect(sink.untaken).to.equal(0);
    });

    it("begins again for a topic that is watched again", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      for (let round = 0; round < 3; round++) {
        const stopping = new AbortController();
        expect(await source.watch("default/a", stopping.signal).nextText()).to.equal(textOf(1));
        stopping.abort();
      }
    });

    it("reports a document again that its sink had no memory for, when it is to, and says what it was refused for", async () => {
      put("a.json", flags(1));
      const source = directory.run((options) => new DirectorySource(options));
      let hasRoom = false;
      const sink = new RecordingSink();
      const take = sink.report.bind(sink);
      sink.report = (report) => {
        if (report.kind === "document" && !hasRoom)
          throw new ProxyError("DOCUMENT_CROWDED_OUT", "there is no memory");
        take(report);
      };
      source.source.watch("default/a", sink, new AbortController().signal);
      expect((await sink.nextStale()).message).to.contain("there is no memory");
      expect(new Set(source.logged("error").map(({ msg }) => msg))).to.deep.equal(new Set([crowdedOutText]));
      hasRoom = true;
      let done = 0;
      source.source.offerAgain("default/a", () => done++);
      expect(sink.lastText).to.equal(textOf(1));
      expect(done).to.equal(1);
    });

    it("says once more what is wrong with the file after it has reported an earlier document of it again", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      expect(await sink.nextText()).to.equal(textOf(1));
      put("a.json", "{");
      const { message } = await sink.nextStale();
      source.source.offerAgain("default/a", () => undefined);
      expect(await sink.nextText()).to.equal(textOf(1));
      expect((await sink.nextStale()).message).to.equal(message);
    });

    it("says when it noticed a version", async () => {
      const clock = new ManualClock();
      put("a.json", flags(1));
      const source = directory.run((options) => new DirectorySource(options), clock);
      while (!source.source.hasSynced) await clock.advance(1);
      const sink = source.watch("default/a");
      await sink.next();
      clock.jump(500);
      const noticedMs = clock.monotonicMs();
      replace("a.json", flags(2));
      expect(await sink.nextText()).to.equal(textOf(2));
      expect(sink.last).to.deep.equal({ kind: "document", text: textOf(2), version: { noticedMs } });
    });
  });

  describe("how it follows files, as time passes", () => {
    /** A source whose clock stands still after the start: whatever waits for a rest waits for ever. */
    const startFrozen = async (topic: string): Promise<Frozen> => {
      const clock = new ManualClock();
      lead("fence.json", 0);
      const source = directory.run((options) => new DirectorySource(options), clock);
      while (!source.source.hasSynced) await clock.advance(1);
      const [sink, fence] = [source.watch(topic), source.watch("default/fence")];
      await sink.next();
      await fence.next();
      // Files that were just written, and links, are read once more after a rest.
      await clock.advance(80);
      let fences = 0;
      const nothingAtOnce = async (): Promise<void> => {
        // Twice: the second one is looked at after all that was found together with the first.
        for (let i = 0; i < 2; i++) {
          lead("fence.json", ++fences);
          expect(await fence.nextText()).to.equal(textOf(fences));
        }
        expect(sink.untaken).to.equal(0);
      };
      return { clock, sink, nothingAtOnce };
    };
    /** Makes a link lead to another file, which is reported at once. */
    const lead = (name: string, version: number): void => {
      put(`${name}-${version}.txt`, flags(version));
      symlinkSync(`${name}-${version}.txt`, at("..leading"));
      renameSync(at("..leading"), at(name));
    };

    it("reports a rename over a file at once, again and again", async () => {
      put("a.yaml", manifest("a", 0));
      const { sink } = await startFrozen("default/a");
      for (let version = 1; version <= 30; version++) {
        replace("a.yaml", manifest("a", version));
        expect(await sink.nextText()).to.equal(textOf(version));
      }
    });

    it("reports a rename from a folder that is not watched at once", async () => {
      put("a.json", flags(0));
      const { sink } = await startFrozen("default/a");
      writeFileSync(`${directory.path}.other`, JSON.stringify(flags(1)));
      renameSync(`${directory.path}.other`, at("a.json"));
      expect(await sink.nextText()).to.equal(textOf(1));
    });

    it("takes a file that is created in the place of a removed one for a write in place, whatever is in it at first", async () => {
      put("a.json", flags(0));
      const { clock, sink, nothingAtOnce } = await startFrozen("default/a");
      // The events of the file wait for a scan that has begun because of this one, and for the pause after it.
      put("..first", "");
      rmSync(at("a.json"));
      put("a.json", '{"flags": {}}');
      await nothingAtOnce();
      put("a.json", flags(1));
      await nothingAtOnce();
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
    });

    it("reports a file that is renamed to a new name once it has rested", async () => {
      const { clock, sink, nothingAtOnce } = await startFrozen("default/a");
      put("..writing", flags(1));
      renameSync(at("..writing"), at("a.json"));
      await nothingAtOnce();
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
    });

    it("reports a swapped link at once", async () => {
      put("v1.txt", flags(1));
      put("v2.txt", flags(2));
      symlinkSync("v1.txt", at("a.json"));
      const { sink } = await startFrozen("default/a");
      symlinkSync("v2.txt", at("..link"));
      renameSync(at("..link"), at("a.json"));
      expect(await sink.nextText()).to.equal(textOf(2));
    });

    it("reports the swap of a whole ConfigMap mount at once, once a file", async () => {
      const mount = (version: number): void => {
        put(`..2026_${version}/a.json`, flags(version));
        put(`..2026_${version}/sub/b.yaml`, manifest("b", version));
        symlinkSync(`..2026_${version}`, at("..data_tmp"));
        renameSync(at("..data_tmp"), at("..data"));
        if (version > 0) rmSync(at(`..2026_${version - 1}`), { recursive: true });
      };
      mount(0);
      symlinkSync("..data/a.json", at("a.json"));
      symlinkSync("..data/sub", at("sub"));
      const clock = new ManualClock();
      const source = directory.run((options) => new DirectorySource(options), clock);
      while (!source.source.hasSynced) await clock.advance(1);
      const [a, b] = [source.watch("default/a"), source.watch("default/b")];
      expect([await a.nextText(), await b.nextText()]).to.deep.equal([textOf(0), textOf(0)]);
      for (let version = 1; version <= 10; version++) {
        mount(version);
        expect([await a.nextText(), await b.nextText()]).to.deep.equal([textOf(version), textOf(version)]);
      }
      await clock.advance(150);
      expect(source.logged("error")).to.deep.equal([]);
    });

    it("reports a write in place only after size and time rested for 25 ms", async () => {
      put("a.json", flags(0));
      const { clock, sink, nothingAtOnce } = await startFrozen("default/a");
      put("a.json", flags(1));
      await nothingAtOnce();
      const writtenMs = clock.monotonicMs();
      await clock.advance(24);
      await nothingAtOnce();
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
      expect(clock.monotonicMs() - writtenMs).to.be.at.least(25);
    });

    it("waits again after every write, so that half a manifest is never reported", async () => {
      put("a.yaml", manifest("a", 0));
      const { clock, sink } = await startFrozen("default/a");
      truncateSync(at("a.yaml"));
      for (const line of `${manifest("a", 1)}---\n${manifest("b", 1)}`.split(/(?<=\n)/)) {
        appendFileSync(at("a.yaml"), line);
        await clock.advance(15);
      }
      expect(sink.untaken).to.equal(0);
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
      expect(sink.events).to.have.length(2);
    });

    it("takes a new file that is being written for a write in place", async () => {
      const { clock, sink, nothingAtOnce } = await startFrozen("default/a");
      const text = JSON.stringify(flags(1));
      put("a.json", "");
      await wait(5);
      appendFileSync(at("a.json"), text);
      await nothingAtOnce();
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
    });

    it("takes a file that is removed and written again for a change, as some editors save", async () => {
      put("a.json", flags(0));
      const { clock, sink } = await startFrozen("default/a");
      renameSync(at("a.json"), at("a.json~"));
      await clock.advance(10);
      put("a.json", flags(1));
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
      expect(sink.events.map(({ kind }) => kind)).to.deep.equal(["document", "document"]);
    });

    it("reports what a rename put there, and not the half that was being written before", async () => {
      put("a.json", flags(0));
      const { clock, sink } = await startFrozen("default/a");
      put("a.json", '{"flags": {');
      await clock.advance(15);
      replace("a.json", flags(1));
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
    });

    it("finds by its re-scan what no event reported", async () => {
      put("a.json", flags(0));
      linkSync(at("a.json"), `${directory.path}.other`);
      const { clock, sink, nothingAtOnce } = await startFrozen("default/a");
      await clock.advance(1_100);
      // Written by another name of the file, which makes no event in this directory.
      writeFileSync(`${directory.path}.other`, JSON.stringify(flags(1)));
      await nothingAtOnce();
      clock.jump(30_000);
      expect(await textInTime(clock, sink)).to.equal(textOf(1));
    });
  });

  describe("how it follows files", () => {
    it("ends at the last of two renames 1 to 20 ms apart, a hundred times", async () => {
      put("a.json", flags(0));
      const source = await directory.start();
      const sink = source.watch("default/a");
      for (let round = 1; round <= 100; round++) {
        replace("a.json", flags(-round));
        await wait(1 + (round % 20));
        replace("a.json", flags(round));
        await sink.until(textOf(round));
      }
    });

    it("goes on after a rename: with writes, removal, and re-creation", async () => {
      put("a.json", flags(0));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.until(textOf(0));
      for (let round = 0; round < 5; round++) {
        replace("a.json", flags(10 * round + 1));
        await sink.until(textOf(10 * round + 1));
        put("a.json", flags(10 * round + 2));
        await sink.until(textOf(10 * round + 2));
        unlinkSync(at("a.json"));
        expect((await sink.next()).kind).to.equal("deleted");
        put("a.json", flags(10 * round + 3));
        await sink.until(textOf(10 * round + 3));
      }
    });

    it("reports missing before there ever was a document and deleted after it", async () => {
      const source = await directory.start();
      const sink = source.watch("default/a");
      expect((await sink.next()).kind).to.equal("missing");
      put("a.yaml", manifest("a", 1));
      expect(await sink.nextText()).to.equal(textOf(1));
      replace("a.yaml", manifest("b", 1));
      expect((await sink.next()).kind).to.equal("deleted");
      expect((await source.watch("default/a").next()).kind).to.equal("deleted");
    });

    it("follows a link to a file elsewhere, however that is changed", async () => {
      const elsewhere = `${directory.path}.elsewhere`;
      mkdirSync(elsewhere);
      const write = (name: string, version: number): void =>
        writeFileSync(join(elsewhere, name), JSON.stringify(flags(version)));
      write("target", 0);
      symlinkSync(join(elsewhere, "target"), at("a.json"));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.until(textOf(0));
      write("target", 1);
      await sink.until(textOf(1));
      write("next", 2);
      renameSync(join(elsewhere, "next"), join(elsewhere, "target"));
      await sink.until(textOf(2));
      unlinkSync(join(elsewhere, "target"));
      expect((await sink.next()).kind).to.equal("deleted");
    });

    it("follows folders that come, are replaced, move and go", async () => {
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      put("sub/folder/a.json", flags(1));
      await sink.until(textOf(1));
      put("..new/a.json", flags(2));
      renameSync(at("sub/folder"), at("..old"));
      renameSync(at("..new"), at("sub/folder"));
      await sink.until(textOf(2));
      put("sub/folder/a.json", flags(3));
      await sink.until(textOf(3));
      rmSync(at("sub"), { recursive: true });
      expect((await sink.next()).kind).to.equal("deleted");
      put("sub/folder/a.json", flags(4));
      await sink.until(textOf(4));
    });

    it("does not enter a folder again by a link within it", async () => {
      put("sub/a.json", flags(1));
      symlinkSync("..", at("sub/up"));
      symlinkSync(".", at("self"));
      const source = await directory.start();
      const sink = source.watch("default/a");
      expect(await sink.nextText()).to.equal(textOf(1));
      replace("sub/a.json", flags(2));
      expect(await sink.nextText()).to.equal(textOf(2));
      expect(source.logged("error")).to.deep.equal([]);
    });

    it("reports nothing to a topic whose file was only touched", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const [sink, other] = [source.watch("default/a"), source.watch("default/b")];
      await sink.next();
      utimesSync(at("a.json"), 1, 1);
      chmodSync(at("a.json"), 0o600);
      // The second edit of the other one is noticed after the first was reported.
      for (const version of [2, 3]) {
        put("b.json", flags(version));
        await other.until(textOf(version));
      }
      expect(sink.untaken).to.equal(0);
    });
  });

  describe("what can't be served", () => {
    it("says what to do about a directory that is not there, or a file in its place", async () => {
      rmSync(directory.path, { recursive: true });
      const missing = directory.run((options) => new DirectorySource(options));
      expect((await missing.watch("default/a").nextStale()).message).to.contain("ENOENT");
      expect(missing.logged("error")[0]).to.include({ advice: "create it, or correct its path" });
      await missing.stop();
      writeFileSync(directory.path, "{}");
      const file = directory.run((options) => new DirectorySource(options));
      expect((await file.watch("default/a").nextStale()).message).to.contain("ENOTDIR");
      expect(file.logged("error")[0]).to.include({
        advice: "name the directory that flag files are in, not a file",
      });
    });

    it("keeps the last valid version of a file and says once what is wrong and where", async () => {
      put("a.yaml", manifest("a", 1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      replace("a.yaml", manifest("a", 2).replace("state: ENABLED", "state: [ENABLED"));
      const reason = await sink.nextStale();
      expect(reason.message).to.contain(`${at("a.yaml")}:`);
      utimesSync(at("a.yaml"), 1, 1);
      const other = source.watch("default/b");
      for (const version of [2, 3]) {
        put("b.json", flags(version));
        await other.until(textOf(version));
      }
      expect(sink.untaken).to.equal(0);
      const [error, ...more] = source.logged("error");
      expect(more).to.deep.equal([]);
      expect(error?.file).to.equal(at("a.yaml"));
      expect(error?.line).to.be.within(9, 11);
      expect(source.metrics.counts).to.deep.equal({ "invalid:syntax": 1 });
      const late = source.watch("default/a");
      expect(await late.nextText()).to.equal(textOf(1));
      expect(await late.nextStale()).to.equal(reason);
    });

    it("refuses a flag alone, which stays as it was, and serves the others of its file", async () => {
      const of = (state: string, version: number): string =>
        `flags:\n  a: {state: ${state}}\n  b: {variants: {v: ${version}}}\n  c: {variants: [${version}], state: 1}\n`;
      const text = (state: string, version: number): string =>
        `{"flags":{"a":{"defaultVariant":"","state":"${state}"},"b":{"defaultVariant":"","variants":{"v":${version}}}}}`;
      put("x.yaml", of("ENABLED", 1));
      const source = await directory.start();
      const sink = source.watch("default/x");
      expect(await sink.nextText()).to.equal(text("ENABLED", 1));
      replace("x.yaml", of("1", 2));
      await sink.until(text("ENABLED", 2));
      const lines = source.logged("error").map(({ line, reason }) => `${String(line)}: ${String(reason)}`);
      expect(lines.slice(-3)).to.deep.equal([
        '2: "state" of "a" must be ENABLED or DISABLED, but it is a number',
        '4: "state" of "c" must be ENABLED or DISABLED, but it is a number',
        '4: "variants" of "c" must be an object, but it is a list',
      ]);
      replace("x.yaml", of("DISABLED", 3));
      await sink.until(text("DISABLED", 3));
    });

    it("reports the document again once the file is valid again, even as it was before", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      replace("a.json", "{");
      await sink.nextStale();
      replace("a.json", flags(1));
      expect(await sink.nextText()).to.equal(textOf(1));
    });

    it("refuses one FeatureFlag of a file alone", async () => {
      put("x.yaml", `${manifest("a", 1)}---\n${manifest("b", 1)}`);
      const source = await directory.start();
      const [a, b] = [source.watch("default/a"), source.watch("default/b")];
      await Promise.all([a.next(), b.next()]);
      replace("x.yaml", `${manifest("a", 2)}---\n${manifest("b", 2).replace("ENABLED", "7")}`);
      expect(await a.nextText()).to.equal(textOf(2));
      expect((await b.nextStale()).message).to.contain(`${at("x.yaml")}:22: "state"`);
      replace("x.yaml", manifest("a", 3));
      expect(await a.nextText()).to.equal(textOf(3));
      expect((await b.next()).kind).to.equal("deleted");
    });

    it("keeps what a file held while a part of it has an unknown topic", async () => {
      put("x.yaml", `${manifest("a", 1)}---\n${manifest("b", 1)}`);
      const source = await directory.start();
      const [a, b] = [source.watch("default/a"), source.watch("default/b")];
      await Promise.all([a.next(), b.next()]);
      replace("x.yaml", `${manifest("a", 2)}---\n${manifest("B?", 2)}`);
      expect(await a.nextText()).to.equal(textOf(2));
      expect((await b.nextStale()).message).to.contain("metadata.name");
    });

    it("takes a file that is empty at rest for a mistake, not for a deletion", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      truncateSync(at("a.json"));
      expect((await sink.nextStale()).message).to.contain("is empty");
      expect(source.metrics.counts).to.deep.equal({ "invalid:empty": 1 });
    });

    it("does not call missing what is there but was never valid", async () => {
      put("a.json", "{");
      put("x.yaml", manifest("b", 1).replace("ENABLED", "7"));
      const source = await directory.start();
      expect((await source.watch("default/a").nextStale()).message).to.contain(`${at("a.json")}:1`);
      expect((await source.watch("default/b").nextStale()).message).to.contain(`${at("x.yaml")}:9`);
      expect((await source.watch("default/c").next()).kind).to.equal("missing");
    });

    it("keeps what can't be read for now, and reads it when it can", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      // A link to itself can't be followed by anybody, not even by root.
      symlinkSync("a.json", at("..loop"));
      renameSync(at("..loop"), at("a.json"));
      expect((await sink.nextStale()).message).to.contain("ELOOP");
      expect(source.logged("error")).to.have.length(1);
      expect(source.metrics.counts).to.deep.equal({ sourceError: 1 });
      replace("a.json", flags(1));
      expect(await sink.nextText()).to.equal(textOf(1));
    });

    it("keeps the files of a folder that may not be read, and goes on when it may", async () => {
      put("sub/a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      // Nothing is forbidden to root.
      const isRoot = process.geteuid?.() === 0;
      chmodSync(dirname(directory.path), 0o755);
      try {
        chmodSync(at("sub"), 0o000);
        if (isRoot) process.seteuid?.(65534);
        expect((await sink.nextStale()).message).to.contain("EACCES");
      } finally {
        if (isRoot) process.seteuid?.(0);
      }
      chmodSync(at("sub"), 0o755);
      expect(await sink.nextText()).to.equal(textOf(1));
      expect(source.logged("error").length).to.be.greaterThan(0);
    });

    it("does not read a file beyond 16 MB", async () => {
      put("a.json", flags(1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      truncateSync(at("a.json"), 17 * 1024 * 1024);
      expect((await sink.nextStale()).message).to.contain("17825792 bytes, more than the 16777216");
      expect(source.metrics.counts).to.deep.equal({ "invalid:too_large": 1 });
    });

    it("says how to rename a flagd file whose name can't be a topic", async () => {
      put("Fläche.json", flags(1));
      const source = await directory.start();
      expect(source.logged("error").map(({ file }) => file)).to.deep.equal([at("Fläche.json")]);
      expect(source.logged("error")[0]?.reason).to.contain("rename the file");
    });

    it("warns once a version of what YAML 1.1 reads otherwise, with file and line", async () => {
      put("a.yaml", manifest("a", 1).replace("v: 1", "on: 1").replace("Variant: v", "Variant: on"));
      const source = await directory.start();
      utimesSync(at("a.yaml"), 1, 1);
      await wait(80);
      const warnings = source.logged("warn").map(({ file, line }) => ({ file, line }));
      expect(warnings).to.deep.equal([
        { file: at("a.yaml"), line: 11 },
        { file: at("a.yaml"), line: 12 },
      ]);
      expect(source.metrics.counts).to.deep.equal({ "warning:yaml_1_1": 2 });
    });
  });

  describe("the same FeatureFlag in two files", () => {
    it("serves on the one it served, names both files, and takes the other once the first is gone", async () => {
      put("z.yaml", manifest("a", 1));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await sink.next();
      put("b.yaml", `\n${manifest("a", 2)}`);
      while (source.logged("error").length === 0) await wait(5);
      const [error] = source.logged("error");
      expect(error).to.include({ file: at("b.yaml"), line: 2, topic: "default/a" });
      expect(error?.reason).to.contain(`${at("z.yaml")}:1`);
      expect(source.metrics.counts).to.deep.equal({ "invalid:duplicate": 1 });
      expect(sink.untaken).to.equal(0);
      replace("z.yaml", manifest("a", 3));
      expect(await sink.nextText()).to.equal(textOf(3));
      unlinkSync(at("z.yaml"));
      expect(await sink.nextText()).to.equal(textOf(2));
    });

    it("serves the first by path where both were there at the start", async () => {
      put("b.yaml", manifest("a", 2));
      put("a/z.yaml", manifest("a", 1));
      for (let round = 0; round < 5; round++) {
        const source = await directory.start();
        expect(await source.watch("default/a").nextText()).to.equal(textOf(1));
      }
    });

    it("takes a file that is moved for the same, without a word", async () => {
      put("a.yaml", manifest("a", 1));
      mkdirSync(at("sub"));
      const source = await directory.start();
      const [sink, other] = [source.watch("default/a"), source.watch("default/end")];
      await sink.next();
      const moves: readonly (readonly [from: string, to: string])[] = [
        ["a.yaml", "b.yaml"],
        ["b.yaml", "sub/c.yaml"],
      ];
      for (const [index, [from, to]] of moves.entries()) {
        renameSync(at(from), at(to));
        put("end.json", flags(index));
        await other.until(textOf(index));
      }
      put("end.json", flags(2));
      await other.until(textOf(2));
      expect(
        new Set(sink.events.map((event) => (event.kind === "document" ? event.text : event.kind))),
      ).to.deep.equal(new Set([textOf(1)]));
      expect(source.logged("error")).to.deep.equal([]);
    });

    it("serves a flagd file of any name that a selector can hold, in capitals, with _ or with spaces", async () => {
      const names = ["my_flags.json", "Product.JSON", "flags (copy).yaml", "x.YML"];
      for (const name of names) put(name, name.toLowerCase().endsWith("json") ? flags(1) : "flags: {}\n");
      const source = await directory.start();
      for (const topic of ["my_flags", "Product", "flags (copy)", "x"])
        expect((await source.watch(`default/${topic}`).next()).kind, topic).to.equal("document");
      expect(source.logged("error")).to.deep.equal([]);
    });

    it("takes a link to another of its files for the same file", async () => {
      put("a.yaml", manifest("a", 1));
      symlinkSync("a.yaml", at("b.yaml"));
      const source = await directory.start();
      const sink = source.watch("default/a");
      await wait(200);
      expect(source.logged("error")).to.deep.equal([]);
      unlinkSync(at("a.yaml"));
      while (sink.last?.kind !== "deleted") await sink.next();
    });
  });

  describe("the directory itself", () => {
    it("waits for one that is not there, and says so once", async () => {
      rmSync(directory.path, { recursive: true });
      const path = at("later", "flags");
      const source = directory.run((options) => new DirectorySource(options), undefined, path);
      const sink = source.watch("default/a");
      expect((await sink.nextStale()).message).to.contain(path);
      put("later", "a file where the folder is to be");
      expect((await sink.nextStale()).message).to.contain("ENOTDIR");
      rmSync(at("later"));
      expect((await sink.nextStale()).message).to.contain("ENOENT");
      expect(source.source.hasSynced).to.equal(false);
      mkdirSync(at("later"), { recursive: true });
      await wait(30);
      mkdirSync(path);
      writeFileSync(join(path, "a.json"), JSON.stringify(flags(1)));
      await sink.until(textOf(1));
      expect(source.logged("error")).to.have.length(3);
      expect(source.log.map(({ msg }) => msg)).to.include("the flag directory can be read again");
    });

    it("deletes nothing when it vanishes, and goes on when it is there again", async () => {
      put("a.json", flags(1));
      put("sub/b.json", flags(1));
      const source = await directory.start();
      const [a, b] = [source.watch("default/a"), source.watch("default/b")];
      await Promise.all([a.next(), b.next()]);
      renameSync(directory.path, `${directory.path}.away`);
      await Promise.all([a.nextStale(), b.nextStale()]);
      renameSync(`${directory.path}.away`, directory.path);
      expect(await a.nextText()).to.equal(textOf(1));
      expect(await b.nextText()).to.equal(textOf(1));
      rmSync(directory.path, { recursive: true });
      await Promise.all([a.nextStale(), b.nextStale()]);
      mkdirSync(directory.path);
      put("a.json", flags(2));
      await a.until(textOf(2));
      while (b.last?.kind !== "deleted") await b.next();
    });

    it("follows a directory that is a link to the current one", async () => {
      put("..v1/a.json", flags(1));
      put("..v2/a.json", flags(2));
      symlinkSync("..v1", at("..current"));
      const source = await directory.start(undefined, at("..current"));
      const sink = source.watch("default/a");
      expect(await sink.nextText()).to.equal(textOf(1));
      symlinkSync("..v2", at("..next"));
      renameSync(at("..next"), at("..current"));
      await sink.until(textOf(2));
      put("..v2/a.json", flags(3));
      await sink.until(textOf(3));
    });

    it("leaves nothing behind when it is stopped in the middle of everything", async () => {
      for (let file = 0; file < 20; file++) put(`sub-${file}/f${file}.json`, flags(file));
      const source = directory.run((options) => new DirectorySource(options));
      await wait(3);
      for (let file = 0; file < 20; file++) put(`sub-${file}/f${file}.json`, flags(file + 1));
      await source.stop();
      await noWatchLeft();
    });
  });

  it("serves the samples of this repository without a complaint", async () => {
    const samples = fileURLToPath(new URL("../../../../../examples/flags", import.meta.url));
    const source = await directory.start(undefined, samples);
    expect(await source.watch("default/storefront").nextText()).to.contain('"new-welcome"');
    expect(await source.watch("default/pricing").nextText()).to.contain('"discount-percent"');
    expect(source.log.filter(({ level }) => level !== "info")).to.deep.equal([]);
  });
});

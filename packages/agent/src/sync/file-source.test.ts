import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { FileSource } from "./file-source.js";
import type { SourceState } from "./source-state.js";
import { partsOf, SourceProbe } from "./sync.fixture.js";

const restMs = 25;
const lookEveryMs = 2_000;

const document = (version: number): string => `{"flags":{"v${version}":{}}}`;

describe("FileSource", () => {
  let directory: TempDirectory;
  let stops: (() => Promise<void>)[];
  let watchesBefore: number;
  beforeEach(() => {
    directory = new TempDirectory();
    stops = [];
    watchesBefore = watchCount();
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await eventually(() => watchCount() === watchesBefore, "no fs.watch is left");
    directory.remove();
  });

  interface Running {
    readonly source: SourceState;
    readonly probe: SourceProbe;
    readonly stop: () => Promise<void>;
  }

  function run(filePath: string, probe = new SourceProbe(), freeHeapBytes?: () => number): Running {
    const config = { provider: "file", sourceIndex: 1, uri: filePath, selector: "", path: filePath } as const;
    const parts = partsOf(config, probe.options);
    const abort = new AbortController();
    const ended = new FileSource(parts, freeHeapBytes).run(abort.signal);
    const stop = (): Promise<void> => {
      abort.abort();
      return ended;
    };
    stops.push(stop);
    return { source: parts.state, probe, stop };
  }

  /** A source on a clock that stands still, past its first document: what comes without the clock came at once. */
  async function runStill(filePath: string): Promise<Running & { readonly clock: WaitClock }> {
    const clock = new WaitClock();
    const running = run(filePath, new SourceProbe(clock));
    await rest(clock);
    await running.probe.nextDocument();
    await watching(clock);
    return { ...running, clock };
  }

  describe("a file", () => {
    it("that is there at the start is delivered as it is", async () => {
      const text = '{ "flags": { "é": {} } }\n';
      directory.replace("flags.json", text);
      const { probe, source } = run(directory.file("flags.json"));
      const delivery = await probe.deliveries.nextEvent();
      expect(delivery).to.deep.equal({ sourceIndex: 1, bytes: Buffer.from(text) });
      expect(source.status()).to.include({ state: "connected", error: undefined });
      directory.replace("flags.json", document(2));
      expect(await probe.nextDocument(), "what comes next").to.equal(document(2));
    });

    it("of YAML is delivered as JSON", async () => {
      directory.replace("flags.yaml", 'flags:\n  b: {state: ENABLED}\n  a: {variants: {"on": true}}\n');
      const { probe } = run(directory.file("flags.yaml"));
      expect(await probe.nextDocument()).to.equal(
        '{"flags":{"a":{"variants":{"on":true}},"b":{"state":"ENABLED"}}}',
      );
    });

    it("in UTF-16, or with a byte order mark, is delivered as UTF-8, and refused if it is no text", async () => {
      const marked = Buffer.from(`\ufeff${document(1)}`);
      directory.replace("flags.json", marked);
      const { probe, source } = run(directory.file("flags.json"));
      expect(await probe.nextDocument()).to.equal(document(1));
      directory.replace("flags.json", Buffer.from(`\ufeff${document(2)}`, "utf16le"));
      expect(await probe.nextDocument()).to.equal(document(2));
      directory.replace("flags.json", Buffer.from('{"flags":{"é":{}}}', "latin1"));
      await eventually(() => source.status().warning !== undefined, "the refusal");
      expect(source.status().warning).to.contain("nor UTF-16 with a byte order mark");
    });

    it("of FeatureFlag manifests is delivered as one document, each in its last valid version", async () => {
      const one = (name: string, state: string): string =>
        `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: ${name}}\nspec: {flagSpec: {flags: {${name}: {state: ${state}}}}}\n`;
      directory.replace("flags.yaml", one("a", "A"));
      const { probe, source } = run(directory.file("flags.yaml"));
      expect(await probe.nextDocument()).to.equal('{"flags":{"a":{"defaultVariant":"","state":"A"}}}');
      directory.replace(
        "flags.yaml",
        `${one("a", "B")}---\n${one("b", "B")}---\nkind: Secret\napiVersion: v1\n`,
      );
      expect(await probe.nextDocument()).to.equal(
        '{"flags":[{"defaultVariant":"","key":"a","state":"B"},{"defaultVariant":"","key":"b","state":"B"}]}',
      );
      expect(source.status().warning).to.equal(undefined);
      directory.replace(
        "flags.yaml",
        `${one("a", "C").replace("flagSpec: {flags", "flagSpec: {flag")}---\n${one("b", "C")}`,
      );
      expect(await probe.nextDocument()).to.equal(
        '{"flags":[{"defaultVariant":"","key":"b","state":"C"},{"defaultVariant":"","key":"a","state":"B"}]}',
      );
      expect(source.status().warning).to.contain("line 4, column");
      directory.replace("flags.yaml", "apiVersion: v1\nkind: Secret\n");
      await eventually(
        () => source.status().warning?.includes("holds no FeatureFlag") === true,
        "the refusal",
      );
    });

    it("of FeatureFlags one of which is broken is read as before by a source that takes the place of another", async () => {
      const one = (name: string, spec: string): string =>
        `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
      const spec = (name: string): string => `{flagSpec: {flags: {${name}: {state: A}}}}`;
      const file = directory.file("flags.yaml");
      directory.replace("flags.yaml", `${one("a", spec("a"))}---\n${one("b", spec("b"))}`);
      const before = run(file);
      await before.probe.nextDocument();
      directory.replace("flags.yaml", `${one("a", "none")}---\n${one("b", spec("b2"))}`);
      const text = await before.probe.nextDocument();
      expect(text).to.contain('"a"').and.contain('"b2"');
      const probe = new SourceProbe(undefined, undefined, before.probe.memory);
      expect(await run(file, probe).probe.nextDocument()).to.equal(text);
    });

    it("renamed over is delivered at once", async () => {
      directory.replace("flags.json", document(1));
      const { probe } = await runStill(directory.file("flags.json"));
      for (let version = 2; version <= 5; version++) {
        directory.replace("flags.json", document(version));
        expect(await probe.nextDocument()).to.equal(document(version));
      }
    });

    it("in a ConfigMap mount is delivered at once when the mount is swapped", async () => {
      configMap(1);
      symlinkSync("..data/flags.json", directory.file("flags.json"));
      const { probe } = await runStill(directory.file("flags.json"));
      for (let version = 2; version <= 5; version++) {
        configMap(version);
        expect(await probe.nextDocument()).to.equal(document(version));
      }
    });

    it("written in place is delivered once it has rested, and never by half", async () => {
      directory.replace("flags.yaml", "flags:\n  a: {}\n  b: {}\n");
      const { probe, clock } = await runStill(directory.file("flags.yaml"));
      writeFileSync(directory.file("flags.yaml"), "flags:\n  c: {}\n");
      await resting(clock);
      clock.advance(restMs - 1);
      appendFileSync(directory.file("flags.yaml"), "  d: {}\n");
      clock.advance(1);
      await resting(clock);
      expect(probe.deliveries.size).to.equal(0);
      clock.advance(restMs);
      expect(await probe.nextDocument()).to.equal('{"flags":{"c":{},"d":{}}}');
    });

    it("that is emptied first is delivered when it is whole again", async () => {
      directory.replace("flags.json", document(1));
      const { probe, source } = run(directory.file("flags.json"));
      await probe.nextDocument();
      truncateSync(directory.file("flags.json"));
      await delay(5);
      writeFileSync(directory.file("flags.json"), document(2));
      await probe.deliveries.nextMatching(({ bytes }) => bytes.toString() === document(2));
      expect(source.status().error).to.equal(undefined);
    });

    it("rewritten with as many bytes at the same time of modification is delivered", async () => {
      directory.replace("flags.json", document(1));
      utimesSync(directory.file("flags.json"), 1_000, 1_000);
      const { probe } = run(directory.file("flags.json"));
      await probe.nextDocument();
      writeFileSync(directory.file("flags.json"), document(2));
      utimesSync(directory.file("flags.json"), 1_000, 1_000);
      await probe.deliveries.nextMatching(({ bytes }) => bytes.toString() === document(2));
    });

    it("removed and written anew, as some editors do, is a change, not a loss", async () => {
      directory.replace("flags.json", document(1));
      const { probe, clock } = await runStill(directory.file("flags.json"));
      unlinkSync(directory.file("flags.json"));
      await resting(clock);
      writeFileSync(directory.file("flags.json"), document(2));
      clock.advance(restMs);
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(2));
      expect(probe.failures).to.deep.equal([]);
    });

    it("behind a link to elsewhere is looked at every 2 s", async () => {
      mkdirSync(directory.file("elsewhere"));
      directory.replace("elsewhere/real.json", document(1));
      mkdirSync(directory.file("here"));
      symlinkSync("../elsewhere/real.json", directory.file("here/flags.json"));
      const { probe, clock } = await runStill(directory.file("here/flags.json"));
      directory.replace("elsewhere/real.json", document(2));
      clock.advance(lookEveryMs);
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(2));
    });
  });

  describe("without a document", () => {
    // flagd pushes {} when its file is unreadable or gone: all flags are removed.
    const losses: Readonly<Record<string, readonly [lose: (file: string) => void, reason: string]>> = {
      deleted: [unlinkSync, "missing"],
      "deleted with its directory": [(file) => rmSync(path.dirname(file), { recursive: true }), "missing"],
      "moved away": [(file) => renameSync(file, `${file}.bak`), "missing"],
      "replaced by a directory": [(file) => replaceBy(() => mkdirSync(file), file), "missing"],
      "replaced by a pipe": [(file) => replaceBy(() => execFileSync("mkfifo", [file]), file), "missing"],
      "replaced by a link to itself": [
        (file) => replaceBy(() => symlinkSync(path.basename(file), file), file),
        "unreadable",
      ],
      "replaced by something far too large": [(file) => truncateSync(file, 10_000_000_000), "too_large"],
    };
    for (const [what, [lose, reason]] of Object.entries(losses)) {
      it(`a file that was ${what} leaves the last flags in place and is reported once`, async () => {
        mkdirSync(directory.file("sub"));
        directory.replace("sub/flags.json", document(1));
        const { probe, source } = run(directory.file("sub/flags.json"));
        await probe.nextDocument();
        lose(directory.file("sub/flags.json"));
        await probe.failure(reason);
        expect(source.status().state).to.equal("disconnected");
        expect(source.status().error).to.be.a("string").and.include(directory.file("sub/flags.json"));
        expect(probe.logs.filter(({ level }) => level === "warn").length).to.equal(1);
        rmSync(directory.file("sub"), { recursive: true, force: true });
        mkdirSync(directory.file("sub"));
        directory.replace("sub/flags.json", document(2));
        expect(await probe.nextDocument()).to.equal(document(2));
        expect(source.status()).to.include({ state: "connected", error: undefined });
        expect(probe.failures.filter((each) => each === reason)).to.have.length(1);
      });
    }

    it("a file that was emptied is refused as one that is broken, and leaves the last flags in place", async () => {
      directory.replace("flags.json", document(1));
      const { probe, source } = run(directory.file("flags.json"));
      await probe.nextDocument();
      truncateSync(directory.file("flags.json"));
      await probe.failure("refused");
      expect(source.status().state).to.equal("connected");
      expect(source.status().warning).to.include(`${directory.file("flags.json")} is empty`);
      directory.replace("flags.json", document(2));
      expect(await probe.nextDocument()).to.equal(document(2));
      expect(source.status().warning).to.equal(undefined);
    });

    it("a directory or a pipe in the place of a file is named as such", async () => {
      execFileSync("mkfifo", [directory.file("pipe")]);
      const pipe = run(directory.file("pipe"));
      const folder = run(directory.path);
      await pipe.probe.failure("missing");
      await folder.probe.failure("missing");
      expect(pipe.source.status().error).to.include("/pipe is not read, because it is no regular file");
      expect(folder.source.status().error).to.contain(
        `is a directory: name a file in it, or write dir:${directory.path}`,
      );
    });

    it("a YAML file that can't be read names the line, and is delivered once it can", async () => {
      directory.replace("flags.yaml", "flags: {}\n");
      const { probe, source } = run(directory.file("flags.yaml"));
      await probe.nextDocument();
      directory.replace("flags.yaml", "flags:\n  a: [1\n  b: 2\n");
      await probe.failure("refused");
      expect(source.status().warning).to.match(/flags\.yaml: line 2, column \d+: /);
      directory.replace("flags.yaml", "flags: {a: {}}\n");
      expect(await probe.nextDocument()).to.equal('{"flags":{"a":{}}}');
    });

    it("a YAML file the heap has no room for is tried again, ever more seldom, until there is room", async () => {
      let freeBytes = 1_000;
      const clock = new WaitClock();
      directory.replace("flags.yaml", "flags: {a: {}, b: {}}\n");
      const { probe } = run(directory.file("flags.yaml"), new SourceProbe(clock), () => freeBytes);
      const look = async (): Promise<void> => {
        await watching(clock);
        clock.advance(lookEveryMs);
      };
      await rest(clock);
      await failures(probe, 1);
      await look();
      await failures(probe, 2);
      for (const tries of [3, 4]) {
        for (let looks = 0; looks < 2 ** (tries - 2); looks++) await look();
        await failures(probe, tries);
      }
      freeBytes = 1_000_000;
      for (let looks = 0; looks < 7; looks++) await look();
      await watching(clock);
      expect([probe.deliveries.size, probe.failures.length]).to.deep.equal([0, 4]);
      await look();
      expect(await probe.nextDocument()).to.equal('{"flags":{"a":{},"b":{}}}');
    });

    it("a file that there is no descriptor left to read YAML for is tried again", async () => {
      const clock = new WaitClock();
      let isShort = true;
      const probe = new SourceProbe(clock, undefined, {
        // In place of the code for YAML, which is loaded when the first is read.
        set manifests(_none: undefined) {
          if (isShort) throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
        },
      });
      directory.replace("flags.json", document(1));
      run(directory.file("flags.json"), probe);
      await rest(clock);
      await failures(probe, 1);
      expect(probe.failures).to.deep.equal(["unavailable"]);
      isShort = false;
      await watching(clock);
      clock.advance(lookEveryMs);
      expect(await probe.nextDocument()).to.equal(document(1));
    });

    it("a refused document does not count as a lost source, nor as the newest flags", async () => {
      directory.replace("flags.json", "not JSON");
      const probe = new SourceProbe();
      probe.isAccepting = false;
      const { source } = run(directory.file("flags.json"), probe);
      expect(await probe.nextDocument()).to.equal("not JSON");
      expect(source.status()).to.include({ state: "connected", lastUpdate: undefined });
      expect(source.status().warning).to.contain("its newest document is refused: refused by the test");
      probe.isAccepting = true;
      directory.replace("flags.json", document(2));
      await probe.nextDocument();
      await eventually(() => source.status().lastUpdate !== undefined, "a document that is served");
      expect(source.status().warning).to.equal(undefined);
    });

    it("a file that is not there at the start is waited for", async () => {
      const { probe, source } = run(directory.file("flags.json"));
      await probe.failure("missing");
      expect(source.status()).to.include({
        state: "connecting",
        error: `there is no file ${directory.file("flags.json")}`,
      });
      writeFileSync(directory.file("flags.json"), document(1));
      expect(await probe.nextDocument()).to.equal(document(1));
    });

    it("a directory that is not there at the start is found within 2 s, and watched", async () => {
      const clock = new WaitClock();
      const { probe } = run(directory.file("later/flags.json"), new SourceProbe(clock));
      await probe.failure("missing");
      await watching(clock);
      mkdirSync(directory.file("later"));
      directory.replace("later/flags.json", document(1));
      clock.advance(lookEveryMs);
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(1));
      await watching(clock);
      directory.replace("later/flags.json", document(2));
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(2));
    });

    it("a directory that another one replaces is found within 2 s, and watched", async () => {
      mkdirSync(directory.file("sub"));
      directory.replace("sub/flags.json", document(1));
      const { probe, clock } = await runStill(directory.file("sub/flags.json"));
      mkdirSync(directory.file("next"));
      directory.replace("next/flags.json", document(2));
      renameSync(directory.file("sub"), directory.file("old"));
      renameSync(directory.file("next"), directory.file("sub"));
      clock.advance(lookEveryMs);
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(2));
      await watching(clock);
      directory.replace("sub/flags.json", document(3));
      await rest(clock);
      expect(await probe.nextDocument()).to.equal(document(3));
    });
  });

  it("rejects if `deliver` throws", async () => {
    directory.replace("flags.json", document(1));
    const probe = new SourceProbe();
    const options = {
      ...probe.options,
      receiver: {
        ...probe.options.receiver,
        deliver: (): never => {
          throw new TypeError("a bug");
        },
      },
    };
    const filePath = directory.file("flags.json");
    const config = { provider: "file", sourceIndex: 1, uri: filePath, selector: "", path: filePath } as const;
    const error = await new FileSource(partsOf(config, options))
      .run(new AbortController().signal)
      .catch((cause: unknown) => cause);
    expect(error).to.be.instanceOf(TypeError);
  });

  it("stops at once while it rests and while it waits, and leaves no timer", async () => {
    directory.replace("flags.json", document(1));
    for (const isWaiting of [false, true]) {
      const clock = new WaitClock();
      const { probe, stop } = run(directory.file("flags.json"), new SourceProbe(clock));
      await resting(clock);
      if (isWaiting) {
        clock.advance(restMs);
        await probe.nextDocument();
        await watching(clock);
      }
      await stop();
      expect(clock.pendingTimers).to.equal(0);
      expect(probe.deliveries.size).to.equal(0);
    }
  });

  it("ends at the newest content and never delivers half of any, whatever is done to the file", async () => {
    const steps = [
      "replace",
      "write",
      "writeSlowly",
      "truncate",
      "recreate",
      "touch",
      "chmod",
      "remove",
    ] as const;
    const step = fc.record({ kind: fc.constantFrom(...steps), pauseMs: fc.nat({ max: 12 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (history) => {
        const name = `model-${modelRuns++}.yaml`;
        const file = directory.file(name);
        let version = 0;
        const next = (): string => yamlOf(++version);
        directory.replace(name, next());
        const { probe, stop } = run(file);
        try {
          for (const { kind, pauseMs } of history) {
            await delay(pauseMs);
            if (kind === "replace") directory.replace(name, next());
            else if (kind === "write") writeFileSync(file, next());
            else if (kind === "writeSlowly") {
              const content = next();
              writeFileSync(file, content.slice(0, content.length / 2));
              await delay(2);
              appendFileSync(file, content.slice(content.length / 2));
            } else if (kind === "truncate") writeFileSync(file, "");
            else if (kind === "recreate") {
              rmSync(file, { force: true });
              writeFileSync(file, next());
            } else if (kind === "remove") rmSync(file, { force: true });
            else if (kind === "touch") writeFileSync(file, "", { flag: "a" });
            else chmodSyncIfThere(file);
          }
          const last = next();
          if (version % 2 === 0) directory.replace(name, last);
          else writeFileSync(file, last);
          const expected = jsonOf(version);
          let newest = "";
          while (newest !== expected) {
            newest = await probe.nextDocument();
            expect(newest).to.match(/^\{"flags":\{"a(\d+)":\{\},"b\1":\{\},"c\1":\{\}\}\}$/);
          }
        } finally {
          await stop();
        }
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
  let modelRuns = 0;

  /** Swaps the mount as the kubelet does: a new directory of the version, then `..data` renamed over. */
  function configMap(version: number): void {
    mkdirSync(directory.file(`..v${version}`));
    writeFileSync(directory.file(`..v${version}/flags.json`), document(version));
    symlinkSync(`..v${version}`, directory.file("..data_tmp"));
    renameSync(directory.file("..data_tmp"), directory.file("..data"));
  }
});

const yamlOf = (version: number): string =>
  `flags:\n  a${version}: {}\n  b${version}: {}\n  c${version}: {}\n`;
const jsonOf = (version: number): string => `{"flags":{"a${version}":{},"b${version}":{},"c${version}":{}}}`;

function replaceBy(create: () => unknown, file: string): void {
  unlinkSync(file);
  create();
}

function chmodSyncIfThere(file: string): void {
  try {
    chmodSync(file, 0o640);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function watchCount(): number {
  return process.getActiveResourcesInfo().filter((type) => type === "FSEventWrap").length;
}

/** A clock that stands still, and knows for how long the source waits. */
class WaitClock extends ManualClock {
  #waitMs = 0;

  /** Undefined while the source works. */
  get waitMs(): number | undefined {
    return this.pendingTimers === 0 ? undefined : this.#waitMs;
  }

  override after(delayMs: number, callback: () => void): () => void {
    this.#waitMs = delayMs;
    return super.after(delayMs, callback);
  }
}

/** Resolves once the source rests. */
async function resting(clock: WaitClock): Promise<void> {
  await eventually(() => (clock.waitMs ?? Infinity) <= restMs, "a rest");
}

/** Resolves once the source waits for events or its next look. */
async function watching(clock: WaitClock): Promise<void> {
  await eventually(() => (clock.waitMs ?? 0) > restMs, "a wait for events");
}

async function rest(clock: WaitClock): Promise<void> {
  await resting(clock);
  clock.advance(restMs);
}

async function failures(probe: SourceProbe, count: number): Promise<void> {
  await eventually(() => probe.failures.length === count, `${count} failures`);
}

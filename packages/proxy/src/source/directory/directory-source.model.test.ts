import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { encodeDocument, topicKey } from "@bunting/protocol";
import { patienceMs } from "@bunting/test/support/event-queue.js";
import { patient } from "@bunting/test/support/patience.js";
import { expect } from "chai";
import fc from "fast-check";
import { readManifest } from "@bunting/featureflags/manifests";
import { flags, manifest, useDirectory, type RecordingSink, type RunningSource } from "../source.fixture.js";

const topics = ["default/one", "default/two", "default/three", "default/c", "default/a"];
const paths = ["a.yaml", "b.yaml", "c.json", "sub/a.yaml", "sub/d.yml", "sub/deep/e.yaml"];
const folders = ["sub", "sub/deep", "moved"];
const lost = "received that the directory can't be read";

/** What a file may be made to hold; versions are put in when it is written, so that no two writes are alike. */
const content = fc.oneof(
  { weight: 6, arbitrary: fc.subarray(["one", "two", "three"], { minLength: 1 }) },
  { weight: 2, arbitrary: fc.constant("plain" as const) },
  { weight: 2, arbitrary: fc.constantFrom("broken" as const, "partly broken" as const, "empty" as const) },
);
type Content = typeof content extends fc.Arbitrary<infer Value> ? Value : never;

const path = fc.constantFrom(...paths);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("replace" as const), path, content }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("write" as const), path, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("dribble" as const), path, content }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("swap" as const), path, content }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("remove" as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), path, to: path }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("removeFolder" as const), path: fc.constantFrom(...folders) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("moveFolder" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("moveRoot" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(35) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

describe("DirectorySource, whatever happens to its files", () => {
  const directory = useDirectory();
  let version = 0;

  it("ends every topic at what a look at the files gives", async function () {
    this.timeout(120_000);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        rmSync(directory.path, { recursive: true, force: true });
        mkdirSync(directory.path);
        const source = await directory.start();
        const sinks = new Map(topics.map((topic) => [topic, source.watch(topic)]));
        for (const one of steps) await perform(one);
        await settles(sinks);
        await removeFaulty();
        await settles(sinks);
        await agreesWithFreshScan(sinks);
        await source.stop();
      }),
      { numRuns: 30 },
    );
  });

  function at(name: string): string {
    return join(directory.path, name);
  }

  async function perform(one: Step): Promise<void> {
    try {
      switch (one.do) {
        case "replace":
          writeFileSync(at("..writing"), textOf(one.path, one.content));
          mkdirSync(dirname(at(one.path)), { recursive: true });
          renameSync(at("..writing"), at(one.path));
          return;
        case "write":
          mkdirSync(dirname(at(one.path)), { recursive: true });
          writeFileSync(at(one.path), textOf(one.path, one.content));
          return;
        case "dribble": {
          const text = textOf(one.path, one.content);
          mkdirSync(dirname(at(one.path)), { recursive: true });
          writeFileSync(at(one.path), "");
          for (let from = 0; from < text.length; from += 60) {
            appendFileSync(at(one.path), text.slice(from, from + 60));
            await wait(3);
          }
          return;
        }
        case "swap": {
          const target = `..v${++version}`;
          writeFileSync(at(target), textOf(one.path, one.content));
          symlinkSync(at(target), at("..link"));
          mkdirSync(dirname(at(one.path)), { recursive: true });
          renameSync(at("..link"), at(one.path));
          return;
        }
        case "remove":
        case "removeFolder":
          rmSync(at(one.path), { recursive: true, force: true });
          return;
        case "move":
          mkdirSync(dirname(at(one.to)), { recursive: true });
          renameSync(at(one.path), at(one.to));
          return;
        case "moveFolder":
          if (existsSync(at("moved"))) renameSync(at("moved"), at("sub"));
          else renameSync(at("sub"), at("moved"));
          return;
        case "moveRoot":
          renameSync(directory.path, `${directory.path}.away`);
          await wait(10);
          renameSync(`${directory.path}.away`, directory.path);
          return;
        case "wait":
          await wait(one.ms);
      }
    } catch (error) {
      // What is to be moved may not be there, or something stands where a folder is to go: then nothing happens.
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(code)) throw error;
    }
  }

  function textOf(name: string, what: Content): string {
    version++;
    if (what === "empty") return "";
    if (what === "broken") return '{"flags": {"a": [';
    if (what === "plain") return JSON.stringify(flags(version));
    const json = (topic: string): string =>
      JSON.stringify({
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlag",
        metadata: { name: topic },
        spec: { flagSpec: flags(version) },
      });
    const names = what === "partly broken" ? ["one", "two"] : what;
    const parts = names.map((topic) => (name.endsWith(".json") ? json(topic) : manifest(topic, version)));
    const text = parts.join(name.endsWith(".json") ? "\n" : "---\n");
    return what === "partly broken" ? text.replace("ENABLED", "ENABLED\n        metadata: 7") : text;
  }

  /** Waits until every topic is where the files say, and looks that it stays there. */
  async function settles(sinks: ReadonlyMap<string, RecordingSink>): Promise<void> {
    await becomesRight(sinks);
    await wait(60);
    // On a busy machine, a look that found the directory moved away may be told of when all was right already; nothing else may come later.
    if ((await compare(sinks)).every((complaint) => complaint.endsWith(lost))) await becomesRight(sinks);
    expect(await compare(sinks)).to.deep.equal([]);
  }

  async function becomesRight(sinks: ReadonlyMap<string, RecordingSink>): Promise<void> {
    const deadline = performance.now() + patient(patienceMs);
    let complaints = await compare(sinks);
    while (complaints.length > 0 && performance.now() < deadline) {
      await wait(10);
      complaints = await compare(sinks);
    }
    expect(complaints).to.deep.equal([]);
  }

  async function compare(sinks: ReadonlyMap<string, RecordingSink>): Promise<string[]> {
    const { documents, hasErrors } = await readAll();
    return [...sinks].flatMap(([topic, sink]) => {
      const { kind, isStale, isLost } = stateOf(sink);
      if (isLost) return [`${topic} ${lost}`];
      const valid = documents.get(topic) ?? [];
      const isRight = valid.length === 0 ? kind === "absent" : valid.includes(kind);
      // While a file is invalid, what it held before stays, whatever others say.
      return (isRight && !isStale) || (hasErrors && isStale)
        ? []
        : [`${topic} received ${kind}, files hold ${valid.join(" or ")}`];
    });
  }

  /** The oracle: all files as they are now, read one by one. */
  async function readAll(): Promise<{
    documents: Map<string, string[]>;
    hasErrors: boolean;
    faulty: string[];
  }> {
    const documents = new Map<string, string[]>();
    const faulty: string[] = [];
    for (const file of flagFilesBelow(directory.path)) {
      const plain = { topic: topicKey("default", basename(file, extname(file))) };
      const read = await readManifest(file, readFileSync(file), plain);
      if (read.errors.length > 0) faulty.push(file);
      for (const { topic, document } of read.flags) {
        documents.set(topic, [...(documents.get(topic) ?? []), encodeDocument(document)]);
      }
    }
    return { documents, hasErrors: faulty.length > 0, faulty };
  }

  async function removeFaulty(): Promise<void> {
    for (const file of (await readAll()).faulty) rmSync(file);
  }

  async function agreesWithFreshScan(sinks: ReadonlyMap<string, RecordingSink>): Promise<void> {
    const { documents } = await readAll();
    const fresh: RunningSource = await directory.start();
    for (const [topic, sink] of sinks) {
      const expected = fresh.watch(topic);
      await expected.next();
      const isUnclear = (documents.get(topic)?.length ?? 0) > 1;
      if (!isUnclear) expect(stateOf(sink), topic).to.deep.equal(stateOf(expected));
    }
    await fresh.stop();
  }
});

function flagFilesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name.startsWith(".") || !existsSync(path)) return [];
    if (statSync(realpathSync(path)).isDirectory()) return flagFilesBelow(path);
    return [".yaml", ".yml", ".json"].includes(extname(name)) ? [path] : [];
  });
}

/** Where a topic stands after all it received. */
function stateOf(sink: RecordingSink): { kind: string; isStale: boolean; isLost: boolean } {
  let kind = "nothing";
  let isStale = false;
  let isLost = false;
  for (const event of sink.events) {
    isStale = event.kind === "stale";
    isLost = event.kind === "stale" && event.reason.message.startsWith("the flag directory");
    if (event.kind === "document") kind = event.text;
    else if (event.kind !== "stale") kind = "absent";
  }
  return { kind, isStale, isLost };
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  atOnce,
  digestingDocument,
  documentHeapBytes,
  type FlagDocument,
  type PastVersion,
  type TopicKey,
} from "@bunting/protocol";
import { aborted, createLogger } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { withoutDescriptors } from "@bunting/test/support/without-descriptors.js";
import { expect } from "chai";
import { ProxyError } from "../../proxy-error.js";
import { noMetrics } from "../../proxy-metrics.js";
import { encodeSnapshot } from "../../snapshot/encode-snapshot.js";
import { DocumentLedger } from "../../topic/document-ledger.js";
import { TopicRegistry } from "../../topic/topic-registry.js";
import type { FlagSource } from "../flag-source.js";
import { CountingMetrics, RecordingSink } from "../source.fixture.js";
import { CachedSource } from "./cached-source.js";

const topic: TopicKey = "demo/flags";
const away = new Error("the API server is away");

/** A document that names its version. */
function version(number: number, filler = ""): FlagDocument {
  return { flags: { f: { state: `v${number}${filler}` } } };
}

describe("CachedSource", () => {
  let directory: TempDirectory;
  const stops: (() => Promise<void>)[] = [];
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    directory.remove();
  });

  /** A process: a cache in front of a source that says nothing by itself. */
  function start(
    options: {
      sourceName?: string;
      maxBytes?: number;
      at?: string;
      refreshes?: boolean;
      hasRoom?: (bytes: number) => boolean;
    } = {},
  ) {
    const { sourceName = "cluster", maxBytes = 1e6, at = directory.path, refreshes = true } = options;
    const clock = new ManualClock();
    const scripted = Object.assign(new ScriptedSource(clock, false), { run: aborted });
    const metrics = new CountingMetrics();
    const lines: string[] = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => lines.push(line) });
    const source: FlagSource = refreshes ? scripted : withoutRefresh(scripted);
    const cached = new CachedSource({
      source,
      sourceName,
      directory: at,
      maxBytes,
      context: { clock, logger, metrics },
      room: { has: options.hasRoom ?? (() => true) },
    });
    const stopping = new AbortController();
    const running = cached.run(stopping.signal);
    const stop = async (): Promise<void> => {
      stopping.abort();
      await running;
    };
    stops.push(stop);
    const watch = (key: TopicKey = topic): RecordingSink => {
      const sink = new RecordingSink();
      cached.watch(key, sink, stopping.signal);
      return sink;
    };
    return { cached, scripted, clock, metrics, lines, stop, watch };
  }

  /** A process that had this document, and was stopped. */
  async function leave(document: FlagDocument, fields = {}, key: TopicKey = topic): Promise<void> {
    const { scripted, watch, stop } = start();
    watch(key);
    scripted.publish(key, document, fields);
    await stop();
  }

  const files = (suffix = ".flags"): string[] =>
    existsSync(directory.path) ? readdirSync(directory.path).filter((name) => name.endsWith(suffix)) : [];

  it("passes what the source says, and keeps the newest document on disk", async () => {
    const { scripted, watch, stop } = start();
    const sink = watch();
    scripted.publish(topic, version(1));
    scripted.publish(topic, version(2));
    expect(sink.events.map(({ kind }) => kind)).to.deep.equal(["document", "document"]);
    await stop();
    expect(files()).to.have.length(1);
    const file = directory.file(files()[0] ?? "");
    expect(readFileSync(file, "utf8")).to.contain('"v2"').and.not.contain("v1");
    expect(statSync(file).mode & 0o777).to.equal(0o600);
  });

  it("serves the copy as stale where the source says that it can't read the topic, with its version", async () => {
    await leave(version(1), { uid: "u", generation: 3, resourceVersion: "7" });
    const { scripted, watch, metrics, lines } = start();
    const sink = watch();
    scripted.stale(topic, away);
    expect(await sink.nextStale()).to.equal(away);
    const copy = await sink.next();
    expect(copy).to.deep.include({ kind: "document", text: '{"flags":{"f":{"state":"v1"}}}' });
    if (copy.kind === "document")
      expect(copy.version).to.include({
        uid: "u",
        generation: 3,
        resourceVersion: "7",
        isUnconfirmed: true,
      });
    expect(await sink.nextStale()).to.equal(away);
    expect(metrics.counts["unconfirmed"]).to.equal(1);
    expect(lines.filter((line) => line.includes("last-known-good copy is served"))).to.have.length(1);

    scripted.publish(topic, version(1));
    const confirmed = await sink.next();
    expect(confirmed.kind === "document" && confirmed.version.isUnconfirmed).to.equal(undefined);
    expect(metrics.counts["unconfirmed"]).to.equal(0);
    expect(lines.filter((line) => line.includes("any more"))).to.have.length(1);
  });

  it("keeps what its topic knows of the versions before with the copy, and serves it with that", async () => {
    const history = ["aa", "bb"].map((byte) => ({
      digest: byte.repeat(32),
      flags: ["f"],
      metadata: false,
      evaluators: true,
    }));
    const before = start();
    Object.assign(before.watch(), { history });
    before.scripted.publish(topic, version(1));
    await before.stop();
    const after = start();
    const sink = after.watch();
    after.scripted.stale(topic, away);
    await sink.nextStale();
    expect(await sink.nextText()).to.equal('{"flags":{"f":{"state":"v1"}}}');
    expect(sink.histories).to.deep.equal([history]);
  });

  describe("where the source answers at once", () => {
    const digestOf = (number: number): string => encodeSnapshot(version(number)).digest;
    const past = (number: number): PastVersion => ({
      digest: digestOf(number),
      flags: ["f"],
      metadata: false,
      evaluators: false,
    });

    /** A process that has had versions 1 and 2. */
    async function leaveTwo(): Promise<void> {
      const { scripted, watch, stop } = start();
      Object.assign(watch(), { history: [past(1)] });
      scripted.publish(topic, version(2));
      await stop();
    }

    it("tells of the versions before by way of the copy, and keeps that", async () => {
      await leaveTwo();
      for (const isAgain of [false, true]) {
        const { scripted, watch, stop } = start();
        const sink = watch();
        scripted.publish(topic, version(3), { resourceVersion: "9" });
        expect(await sink.nextText()).to.contain("v3");
        const second = await sink.next();
        expect(second).to.deep.include({ kind: "document", text: sink.lastText });
        expect(second.kind === "document" && second.version.resourceVersion).to.equal("9");
        const told = sink.histories.at(-1);
        expect(told).to.deep.equal([past(1), past(2)]);
        // As a topic does.
        Object.assign(sink, { history: told });
        if (!isAgain) scripted.publish(topic, version(3), { resourceVersion: "9" });
        await stop();
      }
    });

    it("says nothing of the copy once the topic is stale, gone, or left", async () => {
      await leaveTwo();
      for (const end of ["stale", "delete", "stop"] as const) {
        const { scripted, watch, stop } = start();
        const sink = watch();
        scripted.publish(topic, version(3));
        if (end === "stale") scripted.stale(topic, away);
        if (end === "delete") scripted.delete(topic);
        await stop();
        expect(sink.histories).to.have.length(1);
        await leaveTwo();
      }
    });

    it("says nothing where the source knows more", async () => {
      await leaveTwo();
      const { scripted, watch, stop } = start();
      const sink = watch();
      Object.assign(sink, { history: [past(1), past(2)] });
      scripted.publish(topic, version(3));
      await stop();
      expect(sink.histories).to.have.length(1);
    });
  });

  it("serves the copy of a source that says nothing for a second, and not before", async () => {
    await leave(version(1));
    const { scripted, watch, clock } = start();
    const [silent, quick] = [watch(), watch("demo/quick")];
    clock.advance(999);
    scripted.publish("demo/quick", version(5));
    expect(silent.events).to.be.empty;
    clock.advance(1);
    await silent.nextText();
    expect((await silent.nextStale()).message).to.contain("not answered yet");
    expect(quick.events).to.have.length(1);
  });

  it("never serves the copy after the source has answered, even if it was being read", async () => {
    await leave(version(1));
    const { scripted, watch, clock, stop } = start();
    const sink = watch();
    clock.advance(1_000);
    scripted.publish(topic, version(2));
    await stop();
    expect(sink.events.map((event) => event.kind === "document" && event.text)).to.deep.equal([
      '{"flags":{"f":{"state":"v2"}}}',
    ]);
    expect(readFileSync(directory.file(files()[0] ?? ""), "utf8")).to.contain('"v2"');
  });

  for (const how of ["missing", "delete"] as const) {
    it(`forgets the copy when the source says that there is no such document (${how})`, async () => {
      await leave(version(1));
      const { scripted, watch, clock, stop } = start();
      const sink = watch();
      clock.advance(1_000);
      await sink.nextText();
      scripted[how](topic);
      await eventually(() => files().length === 0, "the removal");
      expect(sink.last?.kind).to.equal(how === "missing" ? "missing" : "deleted");
      await stop();
      expect(files()).to.be.empty;
    });
  }

  it("writes nothing for names that do not exist", async () => {
    const { scripted, watch, clock, stop } = start();
    const sink = watch();
    clock.advance(1_000);
    scripted.missing(topic);
    await stop();
    expect(sink.events).to.deep.equal([{ kind: "missing" }]);
    expect(readdirSync(directory.path)).to.be.empty;
  });

  it("does not serve the copies of another source", async () => {
    await leave(version(1));
    const { watch, scripted, stop } = start({ sourceName: "another cluster" });
    const sink = watch();
    scripted.stale(topic, away);
    await stop();
    expect(sink.events).to.have.length(1);
  });

  it("sets a copy aside that can't be used, counts it, and writes the next one", async () => {
    await leave(version(1));
    const file = directory.file(files()[0] ?? "");
    writeFileSync(file, readFileSync(file, "utf8").replace("v1", "v9"));
    const { scripted, watch, metrics, lines } = start();
    const sink = watch();
    scripted.stale(topic, away);
    await eventually(() => metrics.counts["copy:unusable"] === 1, "the refusal");
    expect(sink.events).to.have.length(1);
    expect(lines.join()).to.contain("its content is not what was written");
    scripted.publish(topic, version(2));
    await eventually(() => files().length === 1, "the next copy");
    expect(files(".refused")).to.have.length(1);
  });

  it("leaves a copy that it has no descriptor left to read, nor to look what there is, and serves it once there is one", async () => {
    await leave(version(1));
    const before = files("");
    const { sink, clock } = await withoutDescriptors(async () => {
      const { scripted, watch, metrics, clock } = start();
      await eventually(() => metrics.counts["copy:write"] === 1, "the look at the directory");
      const sink = watch();
      scripted.stale(topic, away);
      await eventually(() => metrics.counts["copy:unusable"] === 1, "the failure");
      return { sink, clock };
    });
    expect(files("")).to.deep.equal(before);
    await sink.nextStale();
    clock.advance(5_000);
    expect(await sink.nextText()).to.equal('{"flags":{"f":{"state":"v1"}}}');
  });

  it("does not read a copy that the heap has no room for, says so, and leaves it to a process that has", async () => {
    await leave(version(1));
    const before = files();
    const asked: number[] = [];
    const { scripted, watch, metrics, lines } = start({ hasRoom: (bytes) => asked.push(bytes) === 0 });
    const sink = watch();
    scripted.stale(topic, away);
    await eventually(() => metrics.counts["copy:unusable"] === 1, "the refusal");
    expect(sink.events.map(({ kind }) => kind)).to.deep.equal(["stale"]);
    expect(asked).to.deep.equal([documentHeapBytes(Buffer.from('{"flags":{"f":{"state":"v1"}}}'))]);
    expect(lines.join()).to.contain("raise the container's memory limit");
    expect(files()).to.deep.equal(before);
    const { watch: watchAgain, scripted: again } = start();
    const other = watchAgain();
    again.stale(topic, away);
    await other.nextStale();
    expect(await other.next()).to.include({ kind: "document" });
  });

  it("leaves a copy that its topic has no memory for, and serves it once there is", async () => {
    await leave(version(1));
    const before = files();
    const { cached, scripted, watch, metrics, lines, stop } = start();
    const sink = watch();
    const report = sink.report.bind(sink);
    sink.report = (told) => {
      if (told.kind === "document") throw new ProxyError("DOCUMENT_CROWDED_OUT", "no memory");
      report(told);
    };
    scripted.stale(topic, away);
    await eventually(() => metrics.counts["copy:unusable"] === 1, "the refusal");
    expect(lines.join()).to.contain("raise the container's memory limit");
    sink.report = report;
    scripted.offerAgain = (_topic, done) => done();
    const offeredAgain = new Promise<void>((done) => cached.offerAgain(topic, done));
    await sink.nextStale();
    expect(await sink.nextText()).to.equal('{"flags":{"f":{"state":"v1"}}}');
    await offeredAgain;
    await stop();
    // Nor a marker, after two of which no process reads a copy.
    expect(readdirSync(directory.path)).to.deep.equal(before);
  });

  it("keeps what is served beside a newer version that there is no memory to try, and does not go back to the copy", async () => {
    await leave(version(1));
    const { cached, scripted, clock, stop } = start();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const topics = new TopicRegistry(
      {
        ...{ source: cached, context: { clock, logger, metrics: noMetrics }, lingerMs: 0 },
        ...{ missingPolicy: "hold", deletionGraceMs: 0, deletionPolicy: "keep" },
      },
      new DocumentLedger(10_000),
    );
    const { view } = topics.subscribe(topic, { wake: () => undefined, refuse: () => undefined });
    expect(view.kind).to.equal("starting");
    const document = version(3, "x".repeat(10_000));
    const trial = { document, digest: atOnce(digestingDocument(document)), reach: 10 };
    expect(() => scripted.publish(topic, version(2), { trial })).to.throw("no memory");
    scripted.stale(topic, away);
    await stop();
    expect([...topics.topics()].map(({ newest }) => newest?.text)).to.deep.equal([
      '{"flags":{"f":{"state":"v2"}}}',
    ]);
    expect(readFileSync(directory.file(files()[0] ?? ""), "utf8")).to.contain('"v2"');
  });

  it("serves on where nothing can be written: counted, at the start, with each copy and once more at the end, and logged once a minute", async () => {
    writeFileSync(directory.file("file"), "");
    const { scripted, watch, metrics, lines, stop } = start({ at: directory.file("file/cache") });
    const sink = watch();
    watch("demo/b");
    for (const key of [topic, "demo/b"] as const) scripted.publish(key, version(1));
    await stop();
    expect(sink.events).to.have.length(1);
    expect(metrics.counts["copy:write"]).to.equal(5);
    expect(lines.filter((line) => line.includes("can't write"))).to.have.length(1);
  });

  it("writes a copy that failed again, without another edit", async () => {
    writeFileSync(directory.file("cache"), "");
    const { scripted, watch, metrics, clock, stop } = start({ at: directory.file("cache") });
    watch();
    scripted.publish(topic, version(1));
    // The first failure is that of the look at the start.
    await eventually(() => metrics.counts["copy:write"] === 2 && clock.pendingTimers > 0, "a failure");
    rmSync(directory.file("cache"));
    clock.advance(2_000);
    await eventually(() => existsSync(directory.file("cache")), "a retry");
    await stop();
    expect(readdirSync(directory.file("cache"))).to.have.length(1);
    expect(metrics.counts["copy:write"]).to.equal(2);
  });

  it("keeps the copies below their size, and removes those written longest ago, also of earlier processes", async () => {
    const filler = "x".repeat(10_000);
    for (let index = 0; index < 5; index++) await leave(version(index, filler), {}, `old/flag-${index}`);
    expect(files()).to.have.length(5);
    const { scripted, watch, metrics, stop } = start({ maxBytes: 35_000 });
    await eventually(() => files().length === 3, "room");
    expect(metrics.counts["copy:full"]).to.equal(2);
    watch();
    scripted.publish(topic, version(9, filler));
    await stop();
    await eventually(() => files().length === 3, "room");
    const texts = files().map((name) => readFileSync(directory.file(name), "utf8"));
    expect(texts.some((text) => text.includes("v9"))).to.equal(true);
    expect(texts.some((text) => text.includes("v1x"))).to.equal(false);
  });

  it("writes a copy again that something else has removed", async () => {
    const { scripted, watch, clock } = start();
    watch();
    scripted.publish(topic, version(1));
    await eventually(() => files().length === 1 && clock.pendingTimers > 0, "the copy");
    directory.remove();
    clock.advance(1_000);
    scripted.publish(topic, version(1));
    await eventually(() => files().length === 1, "the copy");
  });

  it("says at the start that it can't write to its directory, and how to mend that, before there is anything to write", async () => {
    writeFileSync(directory.file("a-file"), "");
    const { metrics, lines, scripted, watch } = start({ at: directory.file("a-file") });
    await eventually(() => lines.length > 0, "a warning");
    expect(lines.join("")).to.contain("EEXIST");
    expect(lines.join(""))
      .to.contain("can't write to --cache-dir")
      .and.contain("name a directory on a volume");
    expect(metrics.counts["copy:write"]).to.equal(1);
    const sink = watch();
    scripted.publish(topic, version(1));
    await sink.nextText();
  });

  it("makes its directory at the start, and leaves nothing else there", async () => {
    const { lines } = start({ at: directory.file("deep/cache") });
    await eventually(() => existsSync(directory.file("deep/cache")), "the directory");
    await eventually(() => readdirSync(directory.file("deep/cache")).length === 0, "nothing in it");
    expect(lines).to.deep.equal([]);
  });

  it("is current without a refresh of the source only once that has answered", async () => {
    await leave(version(1));
    const { cached, scripted, watch, clock } = start({ refreshes: false });
    const sink = watch();
    clock.advance(1_000);
    await sink.nextText();
    let answers = 0;
    cached.refresh(topic, () => answers++);
    cached.refresh(topic, () => answers++)();
    expect(answers).to.equal(0);
    scripted.publish(topic, version(2));
    expect(answers).to.equal(1);
    cached.refresh(topic, () => answers++);
    expect(answers).to.equal(2);
  });

  it("takes for an answer also that there is none (any more)", async () => {
    await leave(version(1));
    const { cached, scripted, watch, clock, metrics } = start({ refreshes: false });
    const sink = watch();
    clock.advance(1_000);
    await sink.nextText();
    let answers = 0;
    cached.refresh(topic, () => answers++);
    expect(metrics.counts["unconfirmed"]).to.equal(1);
    scripted.delete(topic);
    expect([answers, metrics.counts["unconfirmed"]]).to.deep.equal([1, 0]);
  });

  it("writes at its end what came while the copy was read", async () => {
    await leave(version(1));
    const { scripted, watch, stop } = start();
    watch();
    scripted.stale(topic, away);
    // The read has begun, and takes several turns more.
    await setImmediate();
    scripted.publish(topic, version(2));
    await stop();
    expect(readFileSync(directory.file(files()[0] ?? ""), "utf8")).to.contain('"v2"');
  });

  it("goes on to keep a topic that was left, and is watched again before its last copy is on disk", async () => {
    const { cached, scripted, watch, stop } = start();
    const leaving = new AbortController();
    cached.watch(topic, new RecordingSink(), leaving.signal);
    scripted.publish(topic, version(1));
    leaving.abort();
    watch();
    await eventually(() => files().length === 1, "the copy");
    // The end of that write is noticed later than the file is there.
    for (let turns = 0; turns < 20; turns++) await setImmediate();
    scripted.publish(topic, version(2));
    await stop();
    expect(readFileSync(directory.file(files()[0] ?? ""), "utf8")).to.contain('"v2"');
  });

  it("leaves no timer and no copy in use behind a topic that is left", async () => {
    await leave(version(1));
    const { cached, clock, metrics } = start();
    const leaving = new AbortController();
    const sink = new RecordingSink();
    cached.watch(topic, sink, leaving.signal);
    clock.advance(1_000);
    await sink.nextText();
    expect(metrics.counts["unconfirmed"]).to.equal(1);
    leaving.abort();
    expect(metrics.counts["unconfirmed"]).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is not kept from counting by what is no copy", async () => {
    mkdirSync(path.join(directory.path, "a-directory.flags"));
    writeFileSync(directory.file("README"), "");
    await leave(version(1));
    const { scripted, watch } = start();
    const sink = watch();
    scripted.stale(topic, away);
    await sink.nextStale();
    await sink.nextText();
  });
});

/** As a source that has no order of versions, and is always current. */
function withoutRefresh(source: ScriptedSource): FlagSource {
  return {
    name: source.name,
    hasSynced: true,
    onSynced: (listener) => source.onSynced(listener),
    run: aborted,
    watch: (...args) => source.watch(...args),
    offerAgain: (...args) => source.offerAgain(...args),
  };
}

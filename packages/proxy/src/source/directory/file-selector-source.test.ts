import { mkdirSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TopicKey } from "@bunting/protocol";
import { readOptions } from "@bunting/runtime";
import { expect } from "chai";
import { proxyOptionTable } from "../../options.js";
import { noMetrics } from "../../proxy-metrics.js";
import { createSource } from "../create-source.js";
import { ProxyError } from "../../proxy-error.js";
import { flags, manifest, noWatchLeft, RecordingSink, textOf, useDirectory } from "../source.fixture.js";
import { FileSelectorSource } from "./file-selector-source.js";

describe("FileSelectorSource", () => {
  const directory = useDirectory();
  const at = (name: string): string => join(directory.path, name);
  const put = (name: string, text: string | object): void =>
    writeFileSync(at(name), typeof text === "string" ? text : JSON.stringify(text));
  const start = (): ReturnType<typeof directory.run> =>
    directory.run((options) => new FileSelectorSource(options));

  beforeEach(() => mkdirSync(directory.path));

  it("serves a file as a topic of its own and follows it", async () => {
    put("Any Name.json", flags(1));
    put("other.json", "{");
    const source = start();
    const sink = source.watch(`file:${at("Any Name.json")}`);
    expect(await sink.nextText()).to.equal(textOf(1));
    put("new", flags(2));
    renameSync(at("new"), at("Any Name.json"));
    expect(await sink.nextText()).to.equal(textOf(2));
    put("Any Name.json", "{");
    expect((await sink.nextStale()).message).to.contain(`${at("Any Name.json")}:1`);
    unlinkSync(at("Any Name.json"));
    expect((await sink.next()).kind).to.equal("deleted");
    expect(source.logged("error")).to.have.length(1);
  });

  it("reports that a file is missing, its directory too, until it is there", async () => {
    const source = start();
    const sinks = ["a.json", "none/b.json"].map((name) => source.watch(`file:${at(name)}`));
    for (const sink of sinks) expect((await sink.next()).kind).to.equal("missing");
    put("a.json", flags(1));
    mkdirSync(at("none"));
    put("none/b.json", flags(2));
    await sinks[0]?.until(textOf(1));
    await sinks[1]?.until(textOf(2));
  });

  it("watches a file only as long as its topic is", async () => {
    put("a.json", flags(1));
    const source = start();
    const stopping = new AbortController();
    const sink = source.watch(`file:${at("a.json")}`, stopping.signal);
    await sink.next();
    expect(process.getActiveResourcesInfo()).to.include("FSEventWrap");
    stopping.abort();
    while (process.getActiveResourcesInfo().includes("FSEventWrap")) await new Promise(setImmediate);
    put("a.json", flags(2));
    expect(await source.watch(`file:${at("a.json")}`).nextText()).to.equal(textOf(2));
    expect(sink.events).to.have.length(1);
    await source.stop();
    await noWatchLeft();
  });

  it("reports a document again that its sink had no memory for, when it is to", async () => {
    put("a.json", flags(1));
    const topic = `file:${at("a.json")}` as TopicKey;
    const source = start();
    let hasRoom = false;
    const sink = new RecordingSink();
    const take = sink.report.bind(sink);
    sink.report = (report) => {
      if (report.kind === "document" && !hasRoom)
        throw new ProxyError("DOCUMENT_CROWDED_OUT", "there is no memory");
      take(report);
    };
    source.source.watch(topic, sink, new AbortController().signal);
    expect((await sink.nextStale()).message).to.contain("there is no memory");
    hasRoom = true;
    let done = 0;
    source.source.offerAgain(topic, () => done++);
    expect(sink.lastText).to.equal(textOf(1));
    expect(done).to.equal(1);
  });

  it("serves files beside FeatureFlags where that is allowed", async () => {
    const { options: defaults } = await readOptions(proxyOptionTable, {
      argv: [],
      env: {},
      readsConfig: false,
    });
    put("a.yaml", manifest("a", 1));
    writeFileSync(`${directory.path}.json`, JSON.stringify(flags(2)));
    const source = directory.run(({ path, ...parts }) =>
      createSource(
        { ...defaults, source: `dir:${path}`, allowFileSelectors: true },
        { ...parts, context: { ...parts.context, metrics: noMetrics }, env: {} },
      ),
    );
    await source.synced();
    expect(await source.watch("default/a").nextText()).to.equal(textOf(1));
    expect(await source.watch(`file:${directory.path}.json`).nextText()).to.equal(textOf(2));
    expect((await source.watch("file/a").next()).kind).to.equal("missing");
  });
});

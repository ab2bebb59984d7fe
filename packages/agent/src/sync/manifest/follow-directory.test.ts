import { rmSync } from "node:fs";
import { systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { createSyncSource } from "../create-source.fixture.js";
import { parseSources } from "../parse-sources.js";
import { SourceProbe } from "../sync.fixture.js";
import type { SyncSource } from "../sync-source.js";

describe("a source of a directory", () => {
  let directory: TempDirectory;
  let stop: () => Promise<void>;
  beforeEach(() => {
    directory = new TempDirectory();
    stop = () => Promise.resolve();
  });
  afterEach(async () => {
    await stop();
    directory.remove();
  });

  function run(probe = new SourceProbe()): { readonly source: SyncSource; readonly probe: SourceProbe } {
    const [config] = parseSources({ uris: [`dir:${directory.path}`], sources: "" });
    if (config === undefined) throw new Error("no source");
    const source = createSyncSource(config, probe.options);
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    stop = () => {
      abort.abort();
      return ended;
    };
    return { source, probe };
  }

  const manifest = (name: string, state: string): string =>
    `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: ${name}}\nspec: {flagSpec: {flags: {${name}: {state: ${state}}}}}\n`;

  /** Of a list of flags that is delivered. */
  const member = (key: string, state: string): string =>
    `{"defaultVariant":"","key":"${key}","state":"${state}"}`;

  it("delivers all its files as one document, and follows each of them", async () => {
    directory.replace("a.yaml", manifest("a", "A"));
    directory.replace("My_flags.json", '{"flags":{"b":{"state":"A"},"bad":{"state":1}}}');
    directory.replace("notes.txt", "no flags");
    const { source, probe } = run();
    const b = (state: string): string => `${member("b", state)},{"key":"bad","state":1}`;
    expect(await probe.nextDocument()).to.equal(`{"flags":[${b("A")},${member("a", "A")}]}`);
    expect(source.status()).to.include({ state: "connected", warning: undefined });
    directory.replace("My_flags.json", '{"flags":{"b":{"state":"B"},"bad":{"state":1}}}');
    expect(await probe.nextDocument()).to.equal(`{"flags":[${b("B")},${member("a", "A")}]}`);
    rmSync(directory.file("a.yaml"));
    expect(await probe.nextDocument()).to.equal(
      '{"flags":{"b":{"defaultVariant":"","state":"B"},"bad":{"state":1}}}',
    );
  });

  it("keeps what a file said before it was broken, and says which one it is", async () => {
    directory.replace("a.yaml", manifest("a", "A"));
    directory.replace("b.yaml", manifest("b", "A"));
    const { source, probe } = run();
    await probe.nextDocument();
    directory.replace("a.yaml", "flags: [\n");
    await eventually(() => source.status().warning !== undefined, "the refusal");
    expect(source.status().warning).to.match(/a\.yaml: line 1, column \d+/);
    directory.replace("b.yaml", manifest("b", "B"));
    for (;;) {
      const document = await probe.nextDocument();
      expect(document).to.contain(member("a", "A"));
      if (document.includes(member("b", "B"))) break;
    }
  });

  it("keeps it when it is begun anew, but nothing of files that are gone by then", async () => {
    for (const name of ["a", "b", "c"]) directory.replace(`${name}.yaml`, manifest(name, "A"));
    const { source, probe } = run();
    await probe.nextDocument();
    directory.replace("a.yaml", "flags: [\n");
    await eventually(() => source.status().warning !== undefined, "the refusal");
    rmSync(directory.file("c.yaml"));
    source.askAgain();
    directory.replace("b.yaml", manifest("b", "B"));
    let document = "";
    while (!document.includes(member("b", "B"))) {
      document = await probe.nextDocument();
      expect(document).to.contain(member("a", "A"));
    }
    expect(document).to.not.contain('"c"');
  });

  it("keeps what it has while there are more files than there is memory for, and says so", async () => {
    directory.replace("a.yaml", manifest("a", "A"));
    const { source, probe } = run(new SourceProbe(undefined, 2_048));
    expect(await probe.nextDocument()).to.equal('{"flags":{"a":{"defaultVariant":"","state":"A"}}}');
    for (const name of ["b", "c"]) directory.replace(`${name}.yaml`, manifest(name, "A"));
    await probe.failure("too_large");
    expect(source.status().error).to.contain("it has more than 2 files");
    rmSync(directory.file("b.yaml"));
    await eventually(async () => (await probe.nextDocument()).includes('"c"'), "the other two");
  });

  it("keeps what it has while its FeatureFlags are too large together, and says so", async () => {
    directory.replace("a.yaml", manifest("a", "A"));
    const { source, probe } = run(new SourceProbe(undefined, 8_000));
    await probe.nextDocument();
    // Written once for each flag, it makes more than 8,000 bytes of a thousand.
    const flags = Array.from({ length: 20 }, (_, index) => `"${index}":{}`).join(",");
    directory.replace("b.json", `{"flags":{${flags}},"metadata":{"note":"${"x".repeat(500)}"}}`);
    await eventually(() => source.status().warning !== undefined, "the warning");
    expect(source.status().warning).to.contain("its FeatureFlags are larger together");
    directory.replace("b.json", `{"flags":{${flags}}}`);
    expect(await probe.nextDocument()).to.contain('"key":"19"');
    expect(source.status().warning).to.equal(undefined);
  });

  it("has no document while there is no file, and keeps the last one when all are gone", async () => {
    const { source, probe } = run();
    await eventually(() => source.status().warning !== undefined, "the warning");
    expect(source.status().warning).to.contain("there is no file of flags");
    directory.replace("a.yaml", manifest("a", "A"));
    expect(await probe.nextDocument()).to.equal('{"flags":{"a":{"defaultVariant":"","state":"A"}}}');
    rmSync(directory.file("a.yaml"));
    await eventually(() => source.status().warning !== undefined, "the warning again");
    expect(probe.deliveries.size).to.equal(0);
  });

  it("is not back because of a file that changed right before its directory was lost", async () => {
    directory.replace("a.yaml", manifest("a", "A"));
    let deliver: (() => void) | undefined;
    const clock: Clock = {
      ...systemClock,
      // Files that change together are taken over together, here when the test says so.
      after: (ms, callback) => {
        if (ms !== 20) return systemClock.after(ms, callback);
        deliver = callback;
        return () => (deliver = undefined);
      },
    };
    const { source, probe } = run(new SourceProbe(clock));
    await probe.nextDocument();
    directory.replace("a.yaml", manifest("a", "B"));
    await eventually(() => deliver !== undefined, "the change");
    directory.remove();
    await probe.failure("missing");
    deliver?.();
    expect(source.status()).to.include({ state: "disconnected" });
    expect(await probe.nextDocument(), "it is served all the same").to.contain('"state":"B"');
  });
});

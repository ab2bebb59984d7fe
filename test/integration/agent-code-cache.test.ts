import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { makeCodeCache } from "../../scripts/code-cache/make-code-cache.js";
import { eventually } from "../support/event-queue.js";
import { agentImage, binaries, ServiceProcess, type LogLine } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const dist = path.dirname(binaries.agent);

/** Says for each script that is compiled with a code cache whether V8 refused it. */
const preload = `
  const vm = require("node:vm");
  const Script = vm.Script;
  vm.Script = class extends Script {
    constructor(code, options) {
      super(code, options);
      if (options?.cachedData !== undefined) console.log(JSON.stringify({ msg: "V8 has the cache", rejected: this.cachedDataRejected }));
    }
  };`;

/** Says which of node's own modules V8 has compiled from source, although node's binary has a code cache for each. */
const preloadUsage = `
  const { internalBinding } = require("internal/test/binding");
  process.on("exit", () => {
    const { compiledWithoutCache } = internalBinding("builtins").getCacheUsage();
    console.log(JSON.stringify({ msg: "compiled from source", modules: [...compiledWithoutCache] }));
  });`;

/** With V8 11, of Node 20, the agent starts without a cache. */
const itOnNewV8 = Number.parseInt(process.versions.v8, 10) >= 12 ? it : it.skip;

describe("V8's code cache of the agent", function () {
  this.timeout(60_000);
  let directory: TempDirectory;
  let cache: string;
  let whole: Buffer;
  before("puts the agent into a folder as in its image", () => {
    directory = new TempDirectory();
    for (const file of ["start-agent.cjs", "bunting-agent.cjs"])
      cpSync(path.join(dist, file), directory.file(file));
    symlinkSync(path.join(dist, "chunks"), directory.file("chunks"));
    writeFileSync(directory.file("preload.cjs"), preload);
    writeFileSync(directory.file("preload-usage.cjs"), preloadUsage);
    const flag = { state: "ENABLED", variants: { yes: true }, defaultVariant: "yes" };
    writeFileSync(directory.file("flags.json"), JSON.stringify({ flags: { on: flag } }));
    expect(makeCodeCache(process.execPath, directory.path)).to.equal(undefined);
    cache = directory.file("bunting-agent.cache");
    whole = readFileSync(cache);
  });
  beforeEach(() => writeFileSync(cache, whole));
  after(() => directory.remove());

  /** Starts the agent, asks it and stops it; returns what it logged. */
  async function askedAgent(flags: readonly string[], file = "flags.json"): Promise<readonly LogLine[]> {
    const free = ["--port=0", "--management-port=0", "--sync-port=0", "--ofrep-port=0"];
    const sources = [
      { uri: directory.file(file), provider: "file" },
      { uri: "127.0.0.1:9", provider: "grpc", selector: "default/none" },
    ];
    const agent = new ServiceProcess(directory.file("start-agent.cjs"), {
      args: ["start", "--host=127.0.0.1", ...free, `--sources=${JSON.stringify(sources)}`],
      image: { ...agentImage, nodeFlags: [...agentImage.nodeFlags, ...flags] },
    });
    try {
      const listens = async (): Promise<unknown> => {
        const line = await agent.nextLog("listening");
        return line["service"] === "ofrep" ? line["port"] : listens();
      };
      const url = `http://127.0.0.1:${Number(await listens())}/ofrep/v1/evaluate/flags/on`;
      await eventually(async () => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(url, { method: "POST", body: "{}", headers });
        return ((await response.json()) as { value?: unknown }).value === true;
      }, "it answers");
      expect(await agent.stop()).to.equal(0);
      // V8 11 says itself what --jitless switches off.
      expect(agent.words.filter((line) => !line.startsWith("Warning: disabling flag"))).to.deep.equal([]);
      return agent.logs;
    } finally {
      await agent.stop("SIGKILL");
    }
  }

  /** Whether V8 refused the cache, or undefined if it was not given one. */
  async function rejectedAtStart(...flags: readonly string[]): Promise<unknown> {
    const logs = await askedAgent(["--require", directory.file("preload.cjs"), ...flags]);
    return logs.find(({ msg }) => msg === "V8 has the cache")?.["rejected"];
  }

  itOnNewV8("is taken by node with the image's flags", async () => {
    expect(await rejectedAtStart()).to.equal(false);
  });

  itOnNewV8("is refused by V8 under other flags, and the agent starts without it", async () => {
    expect(await rejectedAtStart("--no-use-ic")).to.equal(true);
  });

  it("is not needed where V8 may make no code: with --jitless, the agent answers and ends as always", async () => {
    await askedAgent(["--jitless"]);
  });

  const middle = 500_000;
  const damages: Readonly<Record<string, () => void>> = {
    "is missing": () => rmSync(cache),
    "is empty": () => writeFileSync(cache, ""),
    "is cut off": () => writeFileSync(cache, whole.subarray(0, middle)),
    "has one byte that is wrong": () => {
      const damaged = Buffer.from(whole);
      damaged[middle] = (damaged[middle] ?? 0) ^ 1;
      writeFileSync(cache, damaged);
    },
    "is a directory": () => {
      rmSync(cache);
      symlinkSync(dist, cache);
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    it(`is not given to V8 if it ${what}`, async () => {
      damage();
      expect(await rejectedAtStart()).to.equal(undefined);
      rmSync(cache, { force: true });
    });
  }

  it("is not given to V8 if it is that of another bundle", async () => {
    const launcher = directory.file("start-agent.cjs");
    const before = readFileSync(launcher, "utf8");
    writeFileSync(launcher, before.replace(/"[0-9a-f]{16}"/, '"0123456789abcdef"'));
    try {
      expect(await rejectedAtStart()).to.equal(undefined);
    } finally {
      writeFileSync(launcher, before);
    }
  });

  itOnNewV8("is not the only one: node's own modules are taken from node's", async () => {
    const usage = ["--expose-internals", "--no-warnings", "--require", directory.file("preload-usage.cjs")];
    const modulesIn = (logs: readonly LogLine[]): readonly string[] =>
      logs.find(({ msg }) => msg === "compiled from source")?.["modules"] as readonly string[];
    // What loads the module that can set flags, and all that it loads, comes before the flags are right.
    const script = directory.file("before.cjs");
    writeFileSync(script, 'require("node:v8"); require("node:vm"); require("node:process");');
    const command = [...agentImage.nodeFlags, ...usage, script];
    const { stdout } = spawnSync(process.execPath, command, { encoding: "utf8", env: {} });
    const before = modulesIn([JSON.parse(stdout) as LogLine]);
    expect(before).to.include("v8").and.not.include("net");
    const atStart = modulesIn(await askedAgent(usage));
    expect(atStart.filter((module) => !before.includes(module))).to.deep.equal([]);
  });

  it("lets the agent load what only some command lines need without a warning of node", async () => {
    // JSON is YAML, too, and the reader of YAML a chunk.
    cpSync(directory.file("flags.json"), directory.file("flags.yaml"));
    const logs = await askedAgent([], "flags.yaml");
    expect(logs.filter(({ warning }) => warning !== undefined)).to.deep.equal([]);
  });

  it("is left alone with --enable-source-maps, which takes node's own loader", async () => {
    expect(await rejectedAtStart("--enable-source-maps")).to.equal(undefined);
  });
});

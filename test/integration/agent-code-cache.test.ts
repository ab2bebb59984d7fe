import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { makeCodeCache } from "../../scripts/code-cache/make-code-cache.js";
import { eventually } from "../support/event-queue.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
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
    const flag = { state: "ENABLED", variants: { yes: true }, defaultVariant: "yes" };
    writeFileSync(directory.file("flags.json"), JSON.stringify({ flags: { on: flag } }));
    expect(makeCodeCache(process.execPath, directory.path)).to.equal(undefined);
    cache = directory.file("bunting-agent.cache");
    whole = readFileSync(cache);
  });
  beforeEach(() => writeFileSync(cache, whole));
  after(() => directory.remove());

  /** Starts the agent and asks it; returns whether V8 refused the cache, or undefined if it was not given one. */
  async function rejectedAtStart(...flags: readonly string[]): Promise<unknown> {
    const nodeFlags = [...agentImage.nodeFlags, "--require", directory.file("preload.cjs"), ...flags];
    const free = ["--port=0", "--management-port=0", "--sync-port=0", "--ofrep-port=0"];
    const agent = new ServiceProcess(directory.file("start-agent.cjs"), {
      args: ["start", "--host=127.0.0.1", ...free, `--uri=file:${directory.file("flags.json")}`],
      image: { ...agentImage, nodeFlags },
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
      expect(agent.words).to.deep.equal([]);
      return agent.logs.find(({ msg }) => msg === "V8 has the cache")?.["rejected"];
    } finally {
      await agent.stop("SIGKILL");
    }
  }

  it("is taken by node with the image's flags", async () => {
    expect(await rejectedAtStart()).to.equal(false);
  });

  it("is refused by V8 under other flags, and the agent starts without it", async () => {
    expect(await rejectedAtStart("--no-use-ic")).to.equal(true);
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

  it("is left alone with --enable-source-maps, which takes node's own loader", async () => {
    expect(await rejectedAtStart("--enable-source-maps")).to.equal(undefined);
  });
});

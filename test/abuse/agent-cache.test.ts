import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { isReady, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const flags = `{"flags":{"good":{"state":"ENABLED","variants":{"is":"served"},"defaultVariant":"is"}}}`;

describe("hostile files in the agent's cache directory", () => {
  let directory: TempDirectory;
  let agent: ServiceProcess | undefined;
  beforeEach(() => {
    directory = new TempDirectory();
    agent = undefined;
  });
  afterEach(async () => {
    await agent?.stop("SIGKILL");
    directory.remove();
  });

  const cases: readonly [name: string, make: (file: string) => void][] = [
    ["a sparse file of 400 MB", (file) => sparse(file, 400e6)],
    ["a link to /dev/zero", (file) => symlinkSync("/dev/zero", file)],
    ["a named pipe", (file) => execFileSync("mkfifo", [file])],
    ["a directory where the marker goes", (file) => mkdirSync(`${file}.loading`)],
  ];
  for (const [name, make] of cases) {
    it(`${name}: it serves its sources, stops when asked, and finds nothing of it at the next start`, async () => {
      const cache = directory.file("cache");
      const uri = directory.file("flags.json");
      mkdirSync(cache);
      writeFileSync(uri, flags);
      const digest = createHash("sha256").update(JSON.stringify(["file", uri, ""]));
      const file = path.join(cache, `${digest.digest("hex")}.flags`);
      make(file);
      for (const copies of [0, 1]) {
        const started = await startAgent(["--uri", `file:${uri}`, "--cache-dir", cache]);
        agent = started.process;
        await eventually(() => isReady(started.management), "/readyz");
        const response = await fetch(`${started.ofrep}/ofrep/v1/evaluate/flags/good`, { method: "POST" });
        expect(await response.json()).to.include({ value: "served" });
        expect(peakMegabytes(agent.child.pid)).to.be.lessThan(200);
        expect(await agent.stop(), agent.output).to.equal(0);
        expect(readdirSync(cache)).to.include(path.basename(file));
        const loaded = agent.output.split("loaded the last-known-good copy of a source").length - 1;
        expect(loaded, agent.output).to.equal(copies);
      }
    });
  }
});

function sparse(file: string, sizeBytes: number): void {
  writeFileSync(file, "");
  truncateSync(file, sizeBytes);
}

function peakMegabytes(pid = 0): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;
}

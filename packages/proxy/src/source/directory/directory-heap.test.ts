import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { scaled } from "@bunting/test/support/scale.js";
import { expect } from "chai";
import type { HeapReport } from "./directory-heap.child.js";

const child = fileURLToPath(new URL("directory-heap.child.ts", import.meta.url));
const heapMb = 256;

describe(`A directory in a process with a heap of ${heapMb} MB`, () => {
  let directory: string;
  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), "bunting-heap-")), "flags");
    mkdirSync(directory);
  });
  afterEach(() => rmSync(join(directory, ".."), { recursive: true, force: true }));

  async function read(): Promise<HeapReport> {
    const args = [
      `--max-old-space-size=${heapMb}`,
      "--conditions=@bunting/source",
      "--import=tsx",
      child,
      directory,
    ];
    const process_ = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr] = await Promise.all([
      text(process_.stdout),
      text(process_.stderr),
      once(process_, "exit"),
    ]);
    expect(stdout, stderr.slice(0, 2_000)).to.match(/^\{/);
    return JSON.parse(stdout) as HeapReport;
  }

  const files = scaled(30, 12);
  it(`serves ${files} YAML files of 200 KB that are there at the start`, async function () {
    this.timeout(300_000);
    for (let file = 0; file < files; file++)
      writeFileSync(join(directory, `flags-${file}.yaml`), flagsOf(200_000));
    const { counts, log } = await read();
    expect(counts).to.deep.equal({});
    expect(log.some((line) => line.includes(`"topics":${files}`))).to.equal(true);
  });

  it("serves what there is memory for of files that take twenty times their size, and refuses the others", async function () {
    this.timeout(120_000);
    const dense = `{"flags":{"a":{"variants":{"on":[${"[],".repeat(230_000)}1]}}}}`;
    for (let file = 0; file < 30; file++) writeFileSync(join(directory, `flags-${file}.json`), dense);
    const { counts, log } = await read();
    expect(counts["invalid:too_large"]).to.be.within(10, 28);
    expect(log.join("")).to.contain("there is not enough memory to read it");
    expect(log.some((line) => line.includes("flag directory read"))).to.equal(true);
  });

  it("refuses 63 KB that merge a map of 2,000 keys thousands of times, and serves the file beside it", async function () {
    this.timeout(120_000);
    writeFileSync(join(directory, "a.yaml"), mergesOf(2_000, 4_000));
    writeFileSync(join(directory, "b.yaml"), "flags: {}\n");
    const { counts, log } = await read();
    expect(counts).to.deep.equal({ "invalid:syntax": 1 });
    expect(log.join("")).to.contain("more than 1000000 values, with all aliases written out");
    expect(log.some((line) => line.includes('"topics":2'))).to.equal(true);
  });

  it("refuses what aliases would repeat to more than 16 MB", async function () {
    this.timeout(120_000);
    const aliases = new Array<string>(2_000).fill("*s").join(", ");
    writeFileSync(
      join(directory, "a.yaml"),
      `flags: {}\nmetadata:\n  s: &s ${"x".repeat(20_000)}\n  l: [${aliases}]\n`,
    );
    const { counts, log } = await read();
    expect(counts).to.deep.equal({ "invalid:syntax": 1 });
    expect(log.join("")).to.contain("more than 16777216 bytes of JSON, with all aliases written out");
  });

  const many = scaled(300_000, 100_000);
  it(`survives ${many} aliases, empty documents and unknown directives`, async function () {
    this.timeout(300_000);
    writeFileSync(join(directory, "a.yaml"), `a: &a 1\nflags: [${"*a,".repeat(many)}]\n`);
    writeFileSync(join(directory, "b.yaml"), "...\n".repeat(many));
    writeFileSync(join(directory, "c.yaml"), `${"%FOO bar\n".repeat(many / 3)}---\nflags: {}\n`);
    const { log } = await read();
    expect(log.some((line) => line.includes("flag directory read"))).to.equal(true);
  });

  it("logs a hundred of 30,000 errors in a file, and how many more there are", async function () {
    this.timeout(120_000);
    writeFileSync(join(directory, "a.json"), '{"flags":{}} '.repeat(30_000));
    const { counts, log } = await read();
    expect(counts).to.deep.equal({ "invalid:duplicate": 29_999 });
    expect(log.length).to.be.lessThan(110);
    expect(log.join("")).to.contain('"more":29899');
  });

  it("reads JSON of 15 MB that is nearly all line breaks", async function () {
    this.timeout(120_000);
    writeFileSync(join(directory, "a.json"), `{"flags":{}${"\n".repeat(15_000_000)}}`);
    const { counts, peakHeapMb } = await read();
    expect(counts).to.deep.equal({});
    expect(peakHeapMb).to.be.lessThan(150);
  });

  it("survives as many merges as are let through", async function () {
    this.timeout(120_000);
    writeFileSync(join(directory, "a.yaml"), mergesOf(2_000, 480));
    const { counts, log } = await read();
    expect(counts, "of what is beside the flags").to.deep.equal({ "warning:other": 1 });
    expect(log.some((line) => line.includes('"topics":1'))).to.equal(true);
    writeFileSync(join(directory, "a.yaml"), mergesOf(2_000, 520));
    expect((await read()).counts, "more of them").to.deep.equal({ "invalid:syntax": 1 });
  });
});

/** About so many bytes of flags as people write them. */
function flagsOf(bytes: number): string {
  const lines = ["flags:"];
  let length = 0;
  for (let flag = 0; length < bytes; flag++) {
    const part = [
      `  flag-${flag}:`,
      "    state: ENABLED",
      '    variants: {"on": true, "off": false}',
      '    defaultVariant: "off"',
      "    targeting:",
      "      if:",
      `        - {"in": [{"var": "email"}, ["a-${flag}@example.com", "b-${flag}@example.com"]]}`,
      '        - "on"',
      '        - "off"',
    ].join("\n");
    lines.push(part);
    length += part.length + 1;
  }
  return `${lines.join("\n")}\n`;
}

function mergesOf(keys: number, merges: number): string {
  const map = Array.from({ length: keys }, (_, key) => `k${key}: 1`).join(", ");
  const merged = Array.from({ length: merges }, (_, index) => `  ${index}: {<<: *a}`).join("\n");
  return `flags: {}\nmetadata: &a {${map}}\nrest:\n${merged}\n`;
}

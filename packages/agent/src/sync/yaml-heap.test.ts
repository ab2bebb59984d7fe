import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";

const child = fileURLToPath(new URL("yaml-heap.child.ts", import.meta.url));
/** An agent has 32 MB; the loader of TypeScript takes 8 MB more. */
const heapMb = 40;

describe(`YAML in a process with a heap of ${heapMb} MB`, function () {
  this.timeout(120_000);

  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "bunting-yaml-heap-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  /** Fails if V8 ends the process. */
  async function read(yaml: string): Promise<string> {
    const file = join(directory, "flags.yaml");
    writeFileSync(file, yaml);
    const args = [
      `--max-old-space-size=${heapMb}`,
      "--max-semi-space-size=1",
      "--conditions=@bunting/source",
      "--import=tsx",
      child,
      file,
    ];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  }

  const variants = (text: string): string => `flags:\n  f:\n    variants:\n      a: "${text}"\n`;
  const cases: readonly (readonly [what: string, yaml: string, outcome: RegExp])[] = [
    [
      "a long text that 2,000 aliases repeat",
      repeated('"' + "x".repeat(20_000) + '"', 2_000),
      /aliases written out/,
    ],
    [
      "a text of 1 MB that 1,000 aliases repeat",
      repeated('"' + "x".repeat(1_000_000) + '"', 1_000),
      /^(malformed|too_large): /,
    ],
    [
      "a long key that 1,000 aliases repeat",
      repeated(`{"${"k".repeat(200_000)}": 1}`, 1_000),
      /aliases written out/,
    ],
    [
      "60,000 bad escapes in one text",
      variants("\\q".repeat(60_000)),
      /^malformed: line 4, column \d+: Invalid escape sequence \\q/,
    ],
    ["300,000 ends of documents", "...\n".repeat(300_000), /^too_large: /],
    [
      "100,000 unknown directives",
      "%FOO bar\n".repeat(100_000) + "---\nflags: {}\n",
      /^(too_large: |13 bytes)/,
    ],
    ["200,000 closing brackets", "]".repeat(200_000), /^malformed: line 1, column 1: Unexpected/],
    ["a text of 500,000 lines", `flags:\n  a: b\n${"   c\n".repeat(500_000)}`, /^too_large: /],
    ["300,000 aliases", `a: &a 1\nflags: [${"*a,".repeat(300_000)}]\n`, /^too_large: /],
  ];
  for (const [what, yaml, outcome] of cases) {
    it(`survives ${what}`, async () => {
      expect(await read(yaml)).to.match(outcome);
    });
  }

  it("reads what it has room for", async () => {
    expect(await read(repeated('"' + "x".repeat(1_000) + '"', 500))).to.match(/^50\d{4} bytes$/);
  });
});

function repeated(anchored: string, times: number): string {
  return `s: &s ${anchored}\nflags: [${new Array(times).fill("*s").join(", ")}]\n`;
}

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { missingForTests, refusalOf, requiredParts } from "./required-parts.js";
import { recordedRuns, totalOf } from "./test-counts.js";

describe("parts that BUNTING_REQUIRE names", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-require-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("may not be missing, and the sentence says what to do", () => {
    const environment = { BUNTING_REQUIRE: "go, root" };
    expect(refusalOf("go", "there is no `go` here.", environment)).to.equal(
      "go is missing, which BUNTING_REQUIRE requires: there is no `go` here. Remedy: install Go 1.26 or newer, and have it on PATH, or leave go out of BUNTING_REQUIRE.",
    );
    expect(refusalOf("redis", "there is none", environment)).to.equal(undefined);
    expect(refusalOf("go", "there is none", {})).to.equal(undefined);
  });

  it("are looked for on PATH where tests would skip without them", () => {
    const program = path.join(directory, "redis-server");
    writeFileSync(program, "");
    chmodSync(program, 0o755);
    const environment = { PATH: directory, BUNTING_REQUIRE: "redis,chromium,root,go" };
    expect(missingForTests(environment, true)).to.have.lengthOf(1);
    expect(missingForTests(environment, true)[0]).to.contain("there is no chromium on PATH");
    expect(missingForTests(environment, false).at(-1)).to.match(/^root is missing.*Remedy: run as root/);
    expect(missingForTests({ PATH: "" }, false), "nothing is required").to.deep.equal([]);
  });

  it("are known names", () => {
    expect(() => requiredParts({ BUNTING_REQUIRE: "go,rediss" })).to.throw(
      'BUNTING_REQUIRE names "rediss", which is none of go, redis,',
    );
    expect(() => missingForTests({ BUNTING_REQUIRE: "rediss" }, true)).to.throw("rediss");
  });

  describe("of a step", function () {
    this.timeout(60_000);

    function skip(environment: NodeJS.ProcessEnv): {
      readonly status: number | null;
      readonly output: string;
    } {
      const file = path.join(directory, "a.test.mjs");
      writeFileSync(
        file,
        `describe("a", () => { before(() => { throw new Error("it ran"); }); for (const n of [1, 2, 3]) it("test " + n, () => undefined); });`,
      );
      const module = pathToFileURL(path.join(import.meta.dirname, "skip-tests.ts")).href;
      const script = `import { skipTests } from ${JSON.stringify(module)}; process.exitCode = await skipTests("tests on it", "go", "there is none", [${JSON.stringify(file)}]);`;
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--import=tsx", "--input-type=module", "--eval", script],
        {
          cwd: path.dirname(import.meta.dirname),
          env: { ...process.env, BUNTING_TEST_COUNTS: path.join(directory, "counts"), ...environment },
          encoding: "utf8",
        },
      );
      return { status, output: stdout + stderr };
    }

    it("count each test as skipped, without running it", () => {
      const { status, output } = skip({ BUNTING_REQUIRE: "" });
      expect(status).to.equal(0);
      expect(output).to.equal(
        "bunting: tests on it are skipped: there is none\n0 passed, 0 failed, 3 skipped\n",
      );
      const counted = totalOf(recordedRuns(path.join(directory, "counts")));
      expect(counted).to.deep.equal({ passed: 0, failed: 0, skipped: 3 });
    });

    it("fail where it is required", () => {
      const { status, output } = skip({ BUNTING_REQUIRE: "go" });
      expect(status).to.equal(1);
      expect(output).to.match(
        /^bunting: go is missing, which BUNTING_REQUIRE requires: there is none\. Remedy/,
      );
    });
  });
});

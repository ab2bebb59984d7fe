import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { publishedPackages } from "../../scripts/release/published-packages.js";
import { TempDirectory } from "../support/temp-directory.js";

const root = path.resolve(import.meta.dirname, "../..");

/** Runs what `npm run release` runs, after its build. */
async function release(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; said: string }> {
  const flags = [
    "--conditions=@bunting/source",
    "--import=tsx",
    path.join(root, "scripts/release/release.ts"),
  ];
  const child = spawn(process.execPath, [...flags, ...args], { cwd: root, env: { ...process.env, ...env } });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const code = await new Promise<number>((resolve) => child.once("close", resolve));
  return { code, said };
}

function version(): string {
  const manifest = readFileSync(path.join(root, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

describe("npm run release", function () {
  this.timeout(120_000);
  const directory = new TempDirectory();
  after(() => directory.remove());

  it("says its options", async () => {
    const { code, said } = await release(["--help"]);
    expect(code).to.equal(0);
    for (const option of ["--only", "--out", "--allow-dirty", "--tag"]) expect(said).to.include(option);
  });

  it("refuses to publish with a sentence", async () => {
    const { code, said } = await release([]);
    expect(code).to.equal(1);
    expect(said).to.match(/^release: publishing is the work of \.github\/workflows\/release\.yaml/);
  });

  it("refuses a tag that is not the version's, and a changelog that is not ready", async () => {
    const out = ["--dry-run", "--only", "packages", "--out", directory.file("tagged")];
    expect((await release([...out, "--tag", "v9.9.9"])).said).to.include(
      `tag v${version()}, or raise the version`,
    );
    const heading = /^## (.*)$/m.exec(readFileSync(path.join(root, "CHANGELOG.md"), "utf8"))?.[1] ?? "";
    const isReady = / — \d{4}-\d\d-\d\d$/.test(heading);
    const { code, said } = await release([...out, "--tag", `v${version()}`], {
      GIT_INDEX_FILE: directory.file("none"),
    });
    expect(code).to.equal(1);
    expect(said).to.include(isReady ? "the tree has changes" : "put the day of the release there");
  });

  it("refuses a tree with changes, and a directory that holds something else", async () => {
    const args = ["--dry-run", "--only", "packages", "--out", directory.path];
    // By an index without files, every file is new.
    const { code, said } = await release(args, { GIT_INDEX_FILE: directory.file("none") });
    expect(code).to.equal(1);
    expect(said)
      .to.match(/the tree has changes that are not committed.*--allow-dirty/)
      .and.include("README.md");
    writeFileSync(directory.file("letter.txt"), "keep me");
    expect((await release([...args, "--allow-dirty"])).said).to.include("holds other files");
    expect(readFileSync(directory.file("letter.txt"), "utf8")).to.equal("keep me");
  });

  it("makes the archives, the notes and the checksums of all, also in place of an earlier rehearsal", async () => {
    const out = directory.file("release");
    const { code, said } = await release(["--dry-run", "--only", "packages", "--allow-dirty", "--out", out]);
    expect(code, said).to.equal(0);
    expect(readdirSync(out).sort()).to.deep.equal(["SHA256SUMS", "notes.md", "packages"]);
    expect(readdirSync(path.join(out, "packages"))).to.have.length(publishedPackages.length);
    expect(readFileSync(path.join(root, "CHANGELOG.md"), "utf8")).to.include(
      readFileSync(path.join(out, "notes.md"), "utf8").trim(),
    );
    execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: out });
    // Helm is not what is tested here: a program that leaves an empty file where Helm would leave an archive.
    const helm = directory.file("helm");
    writeFileSync(helm, `#!/bin/sh\n: > "$4/$(basename "$2")-${version()}.tgz"\n`, { mode: 0o755 });
    const again = await release(["--dry-run", "--only", "charts", "--allow-dirty", "--out", out], {
      BUNTING_HELM: helm,
    });
    expect(again.code, again.said).to.equal(0);
    expect(readdirSync(out).sort()).to.deep.equal(["SHA256SUMS", "charts", "notes.md"]);
  });
});

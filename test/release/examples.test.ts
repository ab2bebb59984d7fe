import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { deadLinks } from "../../scripts/dead-links.js";
import { filesOfExamples, packageExamples } from "../../scripts/release/package-examples.js";
import { runBunting } from "../support/cli-process.js";
import { codeBlocksOf, markdownPages, repository } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";

const version = "1.2.3";
/** What commands of pages take from a checkout: they build images or the programs first, and their pages say so. */
const ofCheckout = ["examples/compose/compose.yaml", "examples/kind/up.sh"];

describe("the examples of a release", () => {
  const directory = new TempDirectory();
  const folder = directory.file(`bunting-examples-${version}`);
  before("unpacks them", () => {
    packageExamples(directory.path, version);
    execFileSync("tar", ["-C", directory.path, "-xzf", `${folder}.tgz`]);
  });
  after(() => directory.remove());

  it("have every file that a command of a page takes from examples/ or deploy/", () => {
    const named = markdownPages("docs").flatMap((page) =>
      codeBlocksOf(page)
        .filter(({ language }) => language === "sh" || language === "console")
        .flatMap(({ text }) => [...text.matchAll(/(?<![\w./:-])((?:examples|deploy)\/[\w./-]+)/g)])
        // Flags of the reader's own repository.
        .filter(([, file = ""]) => !file.startsWith("deploy/flags"))
        .map(([, file = ""]) => ({ page, file })),
    );
    const missing = named.filter(({ file }) => !existsSync(path.join(folder, file)));
    expect(new Set(missing.map(({ file }) => file))).to.deep.equal(new Set(ofCheckout));
    expect(new Set(named.map(({ file }) => file)).size).to.be.greaterThan(10);
  });

  it("have files as they are, and pages whose links lead to files of theirs or to the version on the web", () => {
    const files = filesOfExamples();
    const pages = files.filter((file) => file.endsWith(".md"));
    expect(pages).to.include("deploy/helm/bunting/README.md");
    expect(deadLinks(folder, pages)).to.deep.equal([]);
    const text = readFileSync(path.join(folder, "deploy/helm/bunting/README.md"), "utf8");
    expect(text).to.contain(
      "](https://github.com/bunting/bunting/blob/v1.2.3/docs/reference/proxy-options.md)",
    );
    expect(text).to.contain("](values.yaml)");
    for (const file of files) {
      const [packed, own] = [path.join(folder, file), path.join(repository, file)];
      if (!file.endsWith(".md")) expect(readFileSync(packed).equals(readFileSync(own)), file).to.equal(true);
      expect(statSync(packed).mode & 0o111, file).to.equal(statSync(own).mode & 0o111);
    }
  });

  it("are the same archive when it is made again", () => {
    mkdirSync(directory.file("again"));
    packageExamples(directory.file("again"), version);
    const [first, second] = [`${folder}.tgz`, directory.file(`again/${path.basename(folder)}.tgz`)];
    expect(readFileSync(first).equals(readFileSync(second))).to.equal(true);
  });

  it("have flags, sources and Deployments in which bunting lint finds nothing, but in those that show mistakes", async () => {
    const lint = async (file: string): Promise<number | null> =>
      (await runBunting(["lint", "--skip-others", file], { directory: folder })).code;
    for (const good of ["application", "flags", "service/flags", "without-an-operator"])
      expect(await lint(`examples/${good}`), good).to.equal(0);
    expect(await lint("examples/lint")).to.equal(1);
  });
});

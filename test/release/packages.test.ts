import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { findNode24 } from "../../scripts/node24.js";
import { packPackages, type PackedPackage } from "../../scripts/release/pack-packages.js";
import { publishedPackages } from "../../scripts/release/published-packages.js";
import { startAgent } from "../support/agent-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Consumer, packInstalled } from "./support/consumer.js";

const root = path.resolve(import.meta.dirname, "../..");

/** What each archive may hold, beside package.json, README.md and LICENSE. */
const contents: Readonly<Record<string, RegExp>> = {
  "@bunting/protocol": /^(dist\/index\.(js|d\.ts)|proto\/(\w+\/)+\w+\.proto)$/,
  "@bunting/evaluation": /^dist\/index\.(js|d\.ts)$/,
  "@bunting/extension": /^(dist\/index\.(js|d\.ts)|openapi\.yaml)$/,
  "@bunting/featureflags":
    /^dist\/((manifests|checks|resources)\.(js|d\.ts)|chunks\/[\w.-]+-[\w-]{8}(\.js|\.d\.ts))$/,
  bunting:
    /^(bin\/bunting\.cjs|dist\/bundle\/(bunting\.(mjs|cdx\.json|licenses\.txt)|chunks\/[\w-]+-[A-Z0-9]{8}\.mjs(\.LEGAL\.txt)?))$/,
  "bunting-agent":
    /^(bin\/bunting-agent\.cjs|dist\/(bunting-agent\.((health\.)?cjs|cdx\.json|licenses\.txt)|chunks\/([@\w-]+\/)*[\w-]+\.(cjs|mjs)(\.LEGAL\.txt)?))$/,
};

interface Manifest extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The first example in JavaScript of a package's page. */
function exampleOf(folder: string): string {
  const page = readFileSync(path.join(root, "packages", folder, "README.md"), "utf8");
  return /```js\n([^]*?)```/.exec(page)?.[1] ?? expect.fail(`the page of ${folder} has no example`);
}

describe("the packages that are published", function () {
  this.timeout(120_000);
  const directory = new TempDirectory();
  const unpacked = (name: string, file: string): string =>
    path.join(directory.path, "unpacked", name, "package", file);
  const manifestOf = (name: string): Manifest =>
    JSON.parse(readFileSync(unpacked(name, "package.json"), "utf8")) as Manifest;
  let packed: readonly PackedPackage[];

  before("packs them", async () => {
    packed = await packPackages(directory.path);
    for (const { name, filename } of packed) {
      const target = path.join(directory.path, "unpacked", name);
      mkdirSync(target, { recursive: true });
      execFileSync("tar", ["-xzf", directory.file(filename), "-C", target]);
    }
  });
  after(() => directory.remove());

  it("are the command, the agent and four libraries, and nobody publishes a folder of the workspace by mistake", () => {
    const names = [
      "@bunting/protocol",
      "@bunting/evaluation",
      "@bunting/extension",
      "@bunting/featureflags",
      "bunting",
      "bunting-agent",
    ];
    expect(packed.map(({ name }) => name)).to.deep.equal(names);
    for (const folder of readdirSync(path.join(root, "packages"))) {
      const file = path.join(root, "packages", folder, "package.json");
      if (!existsSync(file)) continue;
      const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
      expect(manifest["private"], folder).to.equal(true);
      const isPublished = publishedPackages.some((each) => each.folder === folder);
      expect("publishConfig" in manifest, folder).to.equal(isPublished);
    }
  });

  for (const [name, pattern] of Object.entries(contents)) {
    describe(name, () => {
      it("holds its code, types, page and licence, and nothing else", () => {
        const files = packed.find((each) => each.name === name)?.files.map((file) => file.path) ?? [];
        expect(files).to.include.members(["package.json", "README.md", "LICENSE"]);
        const others = files.filter((file) => !["package.json", "README.md", "LICENSE"].includes(file));
        expect(others).to.not.have.length(0);
        for (const file of others) expect(file).to.match(pattern);
      });

      it("has a page whose links lead to its own version", () => {
        const links = [...readFileSync(unpacked(name, "README.md"), "utf8").matchAll(/\]\(([^)]+)\)/g)];
        const { version } = manifestOf(name);
        for (const [, link] of links)
          expect(link)
            .to.match(/^https:/)
            .and.satisfy(
              (address: string) => !address.includes("/blob/") || address.includes(`/blob/v${version}/`),
            );
      });

      it("tells nothing of the machine that built it, and names no source map", () => {
        for (const { path: file } of packed.find((each) => each.name === name)?.files ?? []) {
          const text = readFileSync(unpacked(name, file), "utf8");
          for (const place of [root, directory.path, path.join(path.dirname(directory.path), "bunting-")])
            expect(text.includes(place), `${file} names ${place}`).to.equal(false);
          expect(text, file).to.not.match(/^\/\/# sourceMappingURL=/m);
        }
      });

      it("says what it is, where it comes from and what it needs", () => {
        const manifest = manifestOf(name);
        expect(manifest).to.include({
          license: "Apache-2.0",
          homepage: "https://github.com/bunting/bunting#readme",
        });
        expect(manifest).to.include({ type: "module" });
        expect(manifest).to.have.property("description").that.is.a("string");
        expect(manifest).to.have.property("keywords").that.includes("feature-flags");
        const folder = publishedPackages.find((each) => each.name === name)?.folder ?? "";
        expect(manifest["repository"]).to.deep.equal({
          type: "git",
          url: "git+https://github.com/bunting/bunting.git",
          directory: `packages/${folder}`,
        });
        expect(manifest["bugs"]).to.deep.equal({ url: "https://github.com/bunting/bunting/issues" });
        const { engines } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Manifest;
        expect(manifest["engines"]).to.deep.equal(engines);
        expect(manifest["publishConfig"]).to.deep.equal({ access: "public", provenance: true });
      });

      it("has nothing of the workspace in its manifest, and every file that it exports", () => {
        const manifest = manifestOf(name);
        expect(manifest).to.not.have.any.keys("private", "scripts", "devDependencies");
        expect(JSON.stringify(manifest)).to.not.match(/workspace:|@bunting\/source|\/src\//);
        for (const conditions of Object.values(manifest.exports ?? {})) {
          expect(Object.keys(conditions)).to.deep.equal(["types", "default"]);
          for (const file of Object.values(conditions))
            expect(existsSync(unpacked(name, file)), file).to.equal(true);
        }
      });

      it("depends on no package of ours that is not published", () => {
        const { dependencies = {} } = manifestOf(name);
        const ours = Object.keys(dependencies).filter((each) => each.startsWith("@bunting/"));
        expect(Object.keys(contents)).to.include.members(ours);
      });
    });
  }

  describe("in a project that has only their archives", () => {
    let consumer: Consumer;
    before(
      "installs them without a network, as docs/start/application.md installs those of a release",
      async () => {
        consumer = new Consumer(directory.file("consumer"));
        const others = [
          "packages/protocol/node_modules/@bufbuild/protobuf",
          "packages/files/node_modules/yaml",
          "node_modules/@types/node",
          "node_modules/.pnpm/node_modules/undici-types",
        ];
        const archives = others.map((each) => packInstalled(each, directory.path));
        await consumer.install([
          ...packed.map(({ filename }) => directory.file(filename)),
          ...(await Promise.all(archives)),
        ]);
      },
    );

    it("the command says its version, and evaluates a flag as its page shows", async () => {
      const version = packed.find(({ name }) => name === "bunting")?.version;
      // The node is the first on PATH, which need not be that of the tests.
      const answer = await consumer.run("npx", "--no-install", "bunting", "--version");
      expect(answer.split(" (node v")[0]).to.equal(`bunting: ${version}`);
      copyFileSync(
        path.join(root, "examples/flags/storefront.yaml"),
        directory.file("consumer/storefront.yaml"),
      );
      const page = readFileSync(path.join(root, "packages/cli/README.md"), "utf8");
      const shown = [...page.matchAll(/^\$ npx bunting (.*)\n([^]*?)(?=^\$|^```)/gm)];
      expect(shown).to.have.length(2);
      for (const [, line = "", answer = ""] of shown) {
        const args = line.split(" ").map((word) => word.replaceAll("'", ""));
        expect(await consumer.run("npx", "--no-install", "bunting", ...args)).to.equal(answer);
      }
    });

    it("the agent answers as its page shows", async () => {
      const page = readFileSync(path.join(root, "packages/agent/README.md"), "utf8");
      const [, flags = ""] = /```yaml\n([^]*?)```/.exec(page) ?? expect.fail("the page has no flags");
      consumer.write("flags.yaml", flags);
      const [, line = ""] = /^npx bunting-agent start (.*)$/m.exec(page) ?? expect.fail("no command");
      const agent = await startAgent(line.split(" "), {
        binary: directory.file("consumer/node_modules/.bin/bunting-agent"),
        directory: directory.file("consumer"),
      });
      try {
        const curl = /^\$ curl -X POST http:\/\/localhost:8016(\S+) -d '(.*)'\n(.*)$/m.exec(page) ?? [];
        const [, asked = "", body = "", shown] = curl;
        const answer = await fetch(`${agent.ofrep}${asked}`, { method: "POST", body });
        expect(await answer.text()).to.equal(shown);
      } finally {
        await agent.process.stop();
      }
    });

    for (const { folder, name } of publishedPackages.filter(({ built }) => built === undefined)) {
      it(`${name} does what its page shows`, async () => {
        const example = exampleOf(folder);
        consumer.write(`${folder}.mjs`, example);
        const expected = [...example.matchAll(/\); \/\/ (.*)$/gm)].map(([, shown]) => shown);
        const printed = (await consumer.node(`${folder}.mjs`)).trimEnd().replaceAll(/\n +|\n(?=\])/g, " ");
        expect(printed.split("\n")).to.deep.equal(expected);
      });
    }

    it("the template of an extension passes its tests by node alone", async () => {
      for (const name of ["hooks.ts", "extension.test.mjs"])
        consumer.write(name, readFileSync(path.join(root, "examples/extensions/template", name), "utf8"));
      const node = findNode24();
      const binary = "binary" in node ? node.binary : expect.fail(node.missing);
      expect(await consumer.run(binary, "--test", "--test-reporter=tap")).to.match(/^# pass 2$/m);
    });

    it("TypeScript finds the types of all, takes the template's hooks, and refuses what the types do not have", async () => {
      consumer.write(
        "hooks.ts",
        readFileSync(path.join(root, "examples/extensions/template/hooks.ts"), "utf8"),
      );
      const libraries = publishedPackages.filter(({ built }) => built === undefined);
      for (const { folder } of libraries) consumer.write(`${folder}-types.mts`, exampleOf(folder));
      // A directive that nothing needs is an error itself.
      const refused = [
        'import { createEvaluator } from "@bunting/evaluation";',
        "// @ts-expect-error: there is no such property",
        "createEvaluator({ flags: {} }).evaluators;",
      ];
      consumer.write("refused.mts", refused.join("\n"));
      const examples = libraries.map(({ folder }) => `${folder}-types.mts`);
      await consumer.typeCheck("hooks.ts", ...examples, "refused.mts");
    });
  });
});

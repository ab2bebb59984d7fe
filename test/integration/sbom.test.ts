import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");
const lock = readFileSync(path.join(root, "pnpm-lock.yaml"), "utf8");

interface Bill {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes: readonly { readonly content: string }[];
    readonly licenses: readonly unknown[];
  }[];
}

/** `name@version` of each package that the source maps of a bundle and its chunks name: what esbuild says apart from its metafile. */
function packagesInMaps(dist: string): Set<string> {
  const maps = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) =>
    /^(bunting-\w+\.cjs|chunks\/.*)\.map$/.test(file),
  );
  const sources = maps.flatMap(
    (file) => (JSON.parse(readFileSync(path.join(dist, file), "utf8")) as { sources: string[] }).sources,
  );
  return new Set(
    // What begins with a dot is not a package: maps inside of packages name such folders.
    sources.flatMap((source) => {
      const [, folder = "", name] =
        /\/\.pnpm\/([^/]+)\/node_modules\/(@[^/]+\/[^./][^/]*|[^@./][^/]*)\//.exec(source) ?? [];
      if (name === undefined) return [];
      // Folders are called scope+name@version, with peers after an underscore.
      const version = folder.slice(name.length + 1).split("_")[0] ?? "";
      return [`${name}@${version}`];
    }),
  );
}

describe("the bill of materials", () => {
  for (const service of ["agent", "proxy", "operator"]) {
    const dist = path.join(root, `packages/${service}/dist`);
    const read = (file: string): string => readFileSync(path.join(dist, file), "utf8");

    it(`of the ${service} names exactly the packages that its bundle contains, with licences and digests`, () => {
      const { components } = JSON.parse(read(`bunting-${service}.cdx.json`)) as Bill;
      const named = components.map(({ name, version }) => `${name}@${version}`);
      expect(named.sort()).to.deep.equal([...packagesInMaps(dist)].sort());
      expect(named.length).to.be.greaterThan(20);
      for (const { name, version, purl, hashes, licenses } of components) {
        expect(purl).to.equal(`pkg:npm/${name.replace("@", "%40")}@${version}`);
        expect(licenses).to.have.length(1);
        expect(lock).to.contain(Buffer.from(hashes[0]?.content ?? "", "hex").toString("base64"));
      }
    });

    it(`of the ${service} has the text of each package's licence beside it`, () => {
      const { components } = JSON.parse(read(`bunting-${service}.cdx.json`)) as Bill;
      const lines = new Set(read(`bunting-${service}.licenses.txt`).split("\n"));
      for (const { name, version } of components) expect(lines).to.include(`${name} ${version}`);
    });
  }
});

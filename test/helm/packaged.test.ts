import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { deadLinks } from "../../scripts/dead-links.js";
import { packageCharts } from "../../scripts/release/package-charts.js";
import { readOciImage } from "../../scripts/images/oci-image.js";
import { Registry } from "../node/support/registry.js";
import { TempDirectory } from "../support/temp-directory.js";
import { chartFolder, helm, one, operatorChartFolder, render, root } from "./support/chart.js";
import { documentedBlocks } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";
import { WritableRegistry } from "./support/writable-registry.js";

interface Chart {
  readonly version: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

describe("the packaged charts", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM");
  const directory = new TempDirectory();
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    version: string;
  };
  before(() => packageCharts(directory.path));
  after(() => directory.remove());

  it("are both, by the version of the release, and each as an OCI layout", () => {
    expect(readdirSync(directory.path).sort()).to.deep.equal([
      "bunting",
      `bunting-${version}.tgz`,
      "bunting-operator",
      `bunting-operator-${version}.tgz`,
    ]);
  });

  it("are pushed to a registry by the lines of docs/releases.md, as what their layouts hold", async () => {
    const registry = await WritableRegistry.listen();
    try {
      const [block = ""] = documentedBlocks("docs/releases.md", "Bringing it into your registry", "sh");
      const lines = block.split("\n").filter((line) => line.startsWith("helm push "));
      expect(lines).to.have.length(2);
      for (const line of lines) {
        const args = line
          .replace("helm ", "")
          .replace("release/charts/", `${directory.path}/`)
          .replaceAll("0.1.0", version)
          .replace("registry.example", registry.host)
          .split(" ");
        const { code, stderr } = await helm([...args, "--plain-http"]);
        expect(code, stderr).to.equal(0);
      }
      for (const name of ["bunting", "bunting-operator"]) {
        const pushed = registry.manifest(`charts/${name}:${version}`) as
          { readonly layers: object } | undefined;
        const { manifest } = readOciImage(directory.file(name), version);
        const { layers } = JSON.parse(readFileSync(manifest.file, "utf8")) as { readonly layers: object };
        expect(pushed?.layers).to.deep.equal(layers);
      }
    } finally {
      registry.close();
    }
  });

  for (const [name, folder] of Object.entries({
    bunting: chartFolder,
    "bunting-operator": operatorChartFolder,
  })) {
    describe(name, () => {
      const archive = directory.file(`${name}-${version}.tgz`);

      it("makes the same objects as the folder, and passes Helm's lint", async () => {
        const objects = await render({}, "bunting", "bunting-system", archive);
        expect(objects).to.deep.equal(await render({}, "bunting", "bunting-system", folder));
        const { code, stdout } = await helm(["lint", "--strict", archive]);
        expect(code, stdout).to.equal(0);
      });

      it("has a page whose links lead to files of its own, or to the version on the web", () => {
        const unpacked = directory.file(`unpacked-${name}`);
        mkdirSync(unpacked);
        execFileSync("tar", ["-xzf", archive, "-C", unpacked]);
        const page = path.join(name, "README.md");
        expect(deadLinks(unpacked, [page])).to.deep.equal([]);
        const text = readFileSync(path.join(unpacked, page), "utf8");
        expect(text).to.include(`](https://github.com/bunting/bunting/blob/v${version}/docs/operate/`);
        expect(text).to.include("](values.yaml)").and.not.include("](../");
      });

      it("is what Helm pulls from a registry that holds its layout", async () => {
        const layout = readOciImage(directory.file(name), version);
        const registry = new Registry(new Map([[`charts/${name}:${version}`, layout]]));
        await registry.listen("127.0.0.1", 0);
        try {
          const chart = `oci://127.0.0.1:${registry.port}/charts/${name}`;
          const target = directory.file(`pulled-${name}`);
          mkdirSync(target);
          const args = ["pull", chart, "--version", version, "--plain-http", "--destination", target];
          const { code, stderr } = await helm(args);
          expect(code, stderr).to.equal(0);
          const pulled = path.join(target, `${name}-${version}.tgz`);
          expect(readFileSync(pulled).equals(readFileSync(archive))).to.equal(true);
        } finally {
          registry.close();
        }
      });

      it("says where it comes from, and names our images to Artifact Hub", async () => {
        const { stdout } = await helm(["show", "chart", archive]);
        const chart = parse(stdout) as Chart;
        const { repository } = JSON.parse(
          readFileSync(path.join(root, "packages/cli/package.json"), "utf8"),
        ) as { repository: { url: string } };
        const home = repository.url.replace(/^git\+(.*)\.git$/, "$1");
        expect(chart).to.include({ version, appVersion: version, home });
        expect(chart["sources"]).to.deep.equal([home]);
        expect(chart["kubeVersion"]).to.match(/^>=1\.\d+\.0-0$/);
        expect(chart["maintainers"]).to.have.length(1);
        const icon = String(chart["icon"]).replace(/^.*\/main\//, "");
        expect(readFileSync(path.join(root, icon), "utf8")).to.match(/^<svg /);
        const annotation = (key: string): unknown => parse(chart.annotations[`artifacthub.io/${key}`] ?? "");
        expect(annotation("license")).to.equal("Apache-2.0");
        for (const { image } of annotation("images") as { image: string }[])
          expect(image).to.match(new RegExp(`^ghcr\\.io/bunting/bunting-(agent|proxy|operator):${version}$`));
      });

      it("takes replicaCount for replicas, also 0, and checks it", async () => {
        const replicas = async (values: object): Promise<unknown> =>
          (
            one(await render(values, "bunting", "bunting-system", archive), "Deployment").spec as {
              replicas: unknown;
            }
          ).replicas;
        expect(await replicas({})).to.equal(2);
        expect(await replicas({ replicas: 3 })).to.equal(3);
        expect(await replicas({ replicaCount: 5 })).to.equal(5);
        expect(await replicas({ replicaCount: 0, replicas: 3 })).to.equal(0);
        const { code, stderr } = await helm(["template", "bunting", archive], {
          values: { replicaCount: "two" },
        });
        expect(code, stderr).to.not.equal(0);
        expect(stderr).to.include("replicaCount");
      });
    });
  }
});

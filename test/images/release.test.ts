import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { hostArchitecture } from "../../scripts/images/base-images.js";
import { readOciImage } from "../../scripts/images/oci-image.js";
import { writeImages } from "../../scripts/release/write-images.js";
import { WritableRegistry } from "../helm/support/writable-registry.js";
import { codeBlocksOf } from "../support/markdown-pages.js";
import { manifest, versionOf } from "../support/manifests.js";
import { scaled } from "../support/scale.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Container, RootFileSystem } from "./support/container.js";

const root = path.resolve(import.meta.dirname, "../..");
/** `e_machine` of an ELF file. */
const elfMachines = { amd64: 62, arm64: 183 };
/** Gates look at the one with a library of its own. */
const services = scaled(["agent", "proxy", "operator"] as const, ["proxy"] as const);
const version = "1.2.3";

/** The machine of each ELF file below a folder, by its path. */
function elfFiles(folder: string): Map<string, number> {
  const found = new Map<string, number>();
  const head = Buffer.alloc(20);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const descriptor = openSync(file, "r");
    readSync(descriptor, head, 0, head.length, 0);
    closeSync(descriptor);
    if (head.toString("latin1", 0, 4) === "\x7fELF")
      found.set(path.relative(folder, file), head.readUInt16LE(18));
  }
  return found;
}

describe("the images of a release", function () {
  this.timeout(1_800_000);
  const directory = new TempDirectory();
  before(() => writeImages(directory.file("images"), version));
  after(() => directory.remove());

  for (const service of services) {
    const layout = directory.file(`images/${service}`);

    it(`of the ${service} are one layout for both architectures, in which every blob has its digest`, () => {
      const blobs = readdirSync(path.join(layout, "blobs/sha256"));
      for (const name of blobs) {
        const bytes = readFileSync(path.join(layout, "blobs/sha256", name));
        expect(createHash("sha256").update(bytes).digest("hex")).to.equal(name);
      }
      const referred = new Set<string>();
      for (const architecture of ["amd64", "arm64"]) {
        const { manifest: head, config, layers, settings } = readOciImage(layout, version, architecture);
        expect([settings.architecture, settings.os]).to.deep.equal([architecture, "linux"]);
        expect(settings.config.Labels).to.have.property(
          "org.opencontainers.image.title",
          `bunting-${service}`,
        );
        for (const { digest } of [head, config, ...layers]) referred.add(digest.replace("sha256:", ""));
      }
      // And the index.
      expect(blobs.filter((name) => !referred.has(name))).to.have.length(1);
    });

    it(`of the ${service} have the programs and libraries of their architecture only`, () => {
      for (const architecture of ["amd64", "arm64"] as const) {
        const unpacked = directory.file(`${service}-${architecture}`);
        mkdirSync(unpacked);
        for (const { file } of readOciImage(layout, version, architecture).layers)
          execFileSync("tar", ["-C", unpacked, "-xzf", file]);
        const machines = elfFiles(unpacked);
        expect([...machines.keys()]).to.include("nodejs/bin/node");
        expect(machines.size).to.be.greaterThan(5);
        expect([...new Set(machines.values())], architecture).to.deep.equal([elfMachines[architecture]]);
        execFileSync("rm", ["-r", unpacked]);
      }
    });

    it(`of the ${service} come with the bill of what they run`, () => {
      const bill = readFileSync(directory.file(`images/bunting-${service}.cdx.json`), "utf8");
      const { bomFormat, metadata } = JSON.parse(bill) as {
        bomFormat: string;
        metadata: { component: { name: string } };
      };
      expect([bomFormat, metadata.component.name]).to.deep.equal(["CycloneDX", `bunting-${service}`]);
    });
  }

  for (const service of services)
    it(`of the ${service} run from the layout on this machine's architecture, and say which version they are`, async () => {
      const layout = directory.file(`images/${service}`);
      const files = new RootFileSystem(readOciImage(layout, version, hostArchitecture));
      const container = new Container(files, { args: ["--version"] });
      try {
        expect(await container.exit, container.output.join("\n")).to.equal(0);
        const manifest = readFileSync(path.join(root, `packages/${service}/package.json`), "utf8");
        const { version: released } = JSON.parse(manifest) as { readonly version: string };
        expect(container.output[0]).to.contain(`bunting-${service}`).and.contain(released);
      } finally {
        await container.remove();
        files.remove();
      }
    });

  it("are copied into a registry by the lines of docs/releases.md, each for both architectures", async () => {
    const page = "docs/releases.md";
    const block = codeBlocksOf(page).find(({ text }) => text.includes("skopeo copy"))?.text ?? "";
    const [loop = ""] = /^for name in [^]*?^done$/m.exec(block) ?? [];
    const registry = await WritableRegistry.listen();
    try {
      const here = loop
        .replace("skopeo copy", "skopeo copy --dest-tls-verify=false")
        .replaceAll("release/images", directory.file("images"))
        .replaceAll(":0.1.0", `:${version}`)
        .replace("registry.example", registry.host);
      await promisify(execFile)("bash", ["--norc", "-ec", here]);
      for (const name of ["agent", "proxy", "operator"])
        expect(registry.manifest(`bunting-${name}:${version}`))
          .to.have.property("manifests")
          .with.length(2);
    } finally {
      registry.close();
    }
  });

  it("of the proxy serves flags from the layout", async () => {
    directory.replace("demo.yaml", manifest("demo", 7, "shop"));
    execFileSync("chmod", ["755", directory.path]);
    const files = new RootFileSystem(readOciImage(directory.file("images/proxy"), version, hostArchitecture));
    const container = new Container(files, {
      args: ["start", "--port=0", "--management-port=0", "--source=dir:/flags", "--drain-delay=0s"],
      env: { FLAGD_PROXY_LOG_FORMAT: "json" },
      mounts: { "/flags": directory.path },
    });
    try {
      const ports = await container.ports(2);
      const client = new StockSyncClient(`127.0.0.1:${ports.get("sync") ?? 0}`);
      expect(versionOf(await client.fetchAll("shop/demo"))).to.equal(7);
      client.close();
      expect(await container.stop()).to.equal(0);
    } finally {
      await container.remove();
      files.remove();
    }
  });
});

import { chmodSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { hostArchitecture } from "../../scripts/images/base-images.js";
import { buildImages, ownLayers, ownSizes, type BuiltImages } from "../../scripts/images/build-images.js";
import { imageBudgetsMiB } from "../../scripts/images/image-budgets.js";
import type { OciBlob, OciImage } from "../../scripts/images/oci-image.js";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Container, RootFileSystem } from "./support/container.js";
import { layerFile, layerFiles } from "./support/layer-files.js";

const root = path.resolve(import.meta.dirname, "../..");
const otherArchitecture = hostArchitecture === "amd64" ? "arm64" : "amd64";
/** `e_machine` of an ELF file. */
const elfMachines = { amd64: 62, arm64: 183 };
const services = ["agent", "proxy", "operator"] as const;
type Service = (typeof services)[number];

function built(images: ReturnType<typeof buildImages>): BuiltImages {
  if ("missing" in images) throw new Error(images.missing);
  return images;
}

/** The layer that a file is in. */
function layerOf(image: OciImage, file: string): OciBlob {
  const has = (layer: OciBlob): boolean => layerFiles(layer).some(({ path: name }) => name === file);
  return image.layers.findLast(has) ?? expect.fail(`no layer has ${file}`);
}

function textIn(image: OciImage, file: string): string {
  return layerFile(layerOf(image, file), file).toString();
}

describe("the images", function () {
  this.timeout(120_000);
  let images: BuiltImages;
  before("builds them from a clean checkout of the last commit", function () {
    this.timeout(1_800_000);
    images = built(buildImages());
  });

  for (const service of services) {
    describe(`of the ${service}`, () => {
      it("adds no more than its budget to its base, packed and unpacked", () => {
        const [packed, unpacked] = ownSizes(images[service], images.runtime);
        expect(packed).to.be.within(1, imageBudgetsMiB[service] * 2 ** 20);
        expect(unpacked).to.be.within(packed, imageBudgetsMiB[service] * 2 ** 20);
      });

      it("runs as nonroot, and says what it is", () => {
        const { architecture, os, config } = images[service].settings;
        const { version } = JSON.parse(
          readFileSync(path.join(root, `packages/${service}/package.json`), "utf8"),
        ) as { version: string };
        expect([architecture, os]).to.deep.equal([hostArchitecture, "linux"]);
        expect(config.User).to.equal("65532:65532");
        expect(config.Entrypoint?.at(0)).to.equal("/nodejs/bin/node");
        const script = {
          agent: "/app/start-agent.cjs",
          proxy: "/app/bunting-proxy.cjs",
          operator: "/app/bunting-operator.cjs",
        }[service];
        expect(config.Entrypoint?.at(-1)).to.equal(script);
        expect(config.Cmd).to.deep.equal(["start"]);
        expect(config.Env).to.include("SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt");
        const ports = {
          agent: [8013, 8014, 8015, 8016],
          proxy: [8015, 8016],
          operator: [8080, 8081, 9443],
        }[service];
        expect(Object.keys(config.ExposedPorts ?? {}).sort()).to.deep.equal(
          ports.map((port) => `${port}/tcp`),
        );
        expect(config.Labels).to.include({
          "org.opencontainers.image.title": `bunting-${service}`,
          "org.opencontainers.image.licenses": "Apache-2.0",
          "org.opencontainers.image.version": version,
          "org.opencontainers.image.revision": images.revision,
        });
        expect(config.Labels?.["org.opencontainers.image.description"]).to.not.equal(undefined);
        expect(config.Labels).to.have.property("org.opencontainers.image.source");
      });

      it("adds files of root's that everyone may read and nobody may write, and no program but jemalloc", () => {
        const files = ownLayers(images[service], images.runtime).flatMap(layerFiles);
        expect(files.map(({ path: name }) => name)).to.include(`app/bunting-${service}.cjs`);
        for (const { path: name, mode, owner } of files) {
          expect(owner, name).to.equal("0/0");
          expect(mode, name).to.match(/^(d|-)rw[x-]r-[x-]r-[x-]$/);
          if (mode.startsWith("d")) continue;
          const isJemalloc =
            /^(usr\/lib\/libjemalloc\.so\.2|(usr\/share\/doc|var\/lib\/dpkg\/status\.d)\/libjemalloc2.*)$/;
          expect(name).to.match(service === "proxy" && isJemalloc.test(name) ? isJemalloc : /^app\//);
          expect(name).to.not.match(/node_modules|\.ts$/);
        }
      });

      it("has no shell, and nothing that runs as another user", () => {
        const files = images[service].layers.flatMap(layerFiles);
        const names = new Set(files.map(({ path: name }) => name.replace(/^(usr\/)?s?bin\//, "")));
        for (const shell of ["sh", "bash", "dash", "ash", "busybox"])
          expect(names.has(shell), shell).to.equal(false);
        expect(files.filter(({ mode }) => mode.startsWith("-") && /s/i.test(mode))).to.deep.equal([]);
      });

      it("has its bill of materials, the licences of what is in it, and our own", () => {
        const bill = JSON.parse(textIn(images[service], `app/bunting-${service}.cdx.json`)) as {
          components: { name: string; version: string }[];
        };
        const licences = textIn(images[service], `app/bunting-${service}.licenses.txt`).split("\n");
        expect(bill.components.map(({ name }) => name))
          .to.include("pino")
          .and.include("yaml");
        for (const { name, version } of bill.components) expect(licences).to.include(`${name} ${version}`);
        expect(textIn(images[service], "app/LICENSE")).to.contain("Apache License");
        if (service === "proxy")
          expect(textIn(images.proxy, "app/cli/bunting.cdx.json")).to.contain("pkg:npm/yaml@");
      });
    });
  }

  it("names jemalloc's package where scanners look for Debian's packages", () => {
    const [layer] = ownLayers(images.proxy, images.runtime);
    const status = layerFile(
      layer ?? expect.fail("no layer"),
      "var/lib/dpkg/status.d/libjemalloc2",
    ).toString();
    expect(status)
      .to.match(/^Package: libjemalloc2$/m)
      .and.match(/^Version: \d/m);
  });

  describe(`for ${otherArchitecture}, built on ${hostArchitecture}`, () => {
    let others: BuiltImages;
    before(function () {
      this.timeout(1_800_000);
      others = built(buildImages(otherArchitecture));
    });

    it("contains the same JavaScript, and an allocator of that architecture", () => {
      for (const service of services) {
        expect(others[service].settings.architecture).to.equal(otherArchitecture);
        const bundle = `app/bunting-${service}.cjs`;
        expect(layerOf(others[service], bundle).digest).to.equal(layerOf(images[service], bundle).digest);
      }
      for (const [architecture, { proxy, runtime }] of [
        [hostArchitecture, images],
        [otherArchitecture, others],
      ] as const) {
        const [layer] = ownLayers(proxy, runtime);
        const library = layerFile(layer ?? expect.fail("no layer"), "usr/lib/libjemalloc.so.2");
        expect(library.readUInt16LE(18)).to.equal(elfMachines[architecture]);
      }
    });
  });

  describe("in a container with a root that is read only", () => {
    let directory: TempDirectory;
    let container: Container | undefined;
    /** One for all containers of an image. */
    const rootFileSystems = new Map<Service, RootFileSystem>();
    before(() => {
      directory = new TempDirectory();
      // The container's user is another.
      chmodSync(directory.path, 0o755);
    });
    afterEach(async () => {
      await container?.remove();
      container = undefined;
    });
    after(() => {
      for (const files of rootFileSystems.values()) files.remove();
      directory.remove();
    });

    function filesOf(service: Service): RootFileSystem {
      const files = rootFileSystems.get(service) ?? new RootFileSystem(images[service]);
      rootFileSystems.set(service, files);
      return files;
    }

    /** The container's PID 1 as this machine sees it: uid, capabilities, and its PID in each namespace. */
    function status(): Readonly<Record<string, string>> {
      const text = readFileSync(`/proc/${container?.pid ?? 0}/status`, "utf8");
      return Object.fromEntries(
        [...text.matchAll(/^(\w+):\s*(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
      );
    }

    function expectUnprivileged(): void {
      const { Uid, Gid, CapEff, NSpid } = status();
      expect([Uid, Gid]).to.deep.equal(Array(2).fill(Array(4).fill("65532").join("\t")));
      expect(CapEff).to.match(/^0+$/);
      expect(NSpid).to.match(/\t1$/);
    }

    it("the proxy serves FeatureFlags as PID 1 and ends with 0 on SIGTERM", async () => {
      directory.replace("demo.yaml", manifest("demo", 1, "shop"));
      container = new Container(filesOf("proxy"), {
        args: ["start", "--port=0", "--management-port=0", "--source=dir:/flags", "--drain-delay=0s"],
        env: { FLAGD_PROXY_LOG_FORMAT: "json" },
        mounts: { "/flags": directory.path },
      });
      const ports = await container.ports(2);
      expectUnprivileged();
      const maps = readFileSync(`/proc/${container.pid}/maps`, "utf8");
      expect(maps).to.contain("/usr/lib/libjemalloc.so.2");
      const client = new StockSyncClient(`127.0.0.1:${ports.get("sync") ?? 0}`);
      try {
        expect(versionOf(await client.fetchAll("shop/demo"))).to.equal(1);
      } finally {
        client.close();
      }
      expect(await container.stop()).to.equal(0);
    });

    for (const service of services) {
      it(`the ${service} asks itself for its health, and has a sentence if it does not run`, async () => {
        container = new Container(filesOf(service), { args: ["health"] });
        expect(await container.exit, container.output.join("\n")).to.equal(1);
        expect(container.output.join("\n")).to.match(/^bunting-\w+: nothing answers at localhost:80\d\d \(/);
      });
    }

    it("the proxy's has the CLI", async () => {
      directory.replace("demo.yaml", manifest("demo", 1, "shop"));
      container = new Container(filesOf("proxy"), {
        entrypoint: ["/nodejs/bin/node", "/app/cli/bunting.mjs"],
        args: ["eval", "/flags/demo.yaml", "on-off"],
        mounts: { "/flags": directory.path },
      });
      expect(await container.exit, container.output.join("\n")).to.equal(0);
      expect(container.output.join("\n")).to.contain("true");
    });

    it("the operator answers probes as PID 1 while its API server is away, and ends with 0 on SIGTERM", async () => {
      const cluster = { server: "https://127.0.0.1:9" };
      const kubeconfig = {
        clusters: [{ name: "away", cluster }],
        contexts: [{ name: "away", context: { cluster: "away", user: "away" } }],
        users: [{ name: "away", user: { token: "t" } }],
        "current-context": "away",
      };
      directory.replace("kubeconfig", JSON.stringify(kubeconfig));
      container = new Container(filesOf("operator"), {
        args: [
          "start",
          "--kubeconfig=/flags/kubeconfig",
          "--health-probe-bind-address=127.0.0.1:0",
          "--metrics-bind-address=0",
          "--webhook-port=0",
        ],
        mounts: { "/flags": directory.path },
      });
      const ports = await container.ports(1);
      expectUnprivileged();
      const answer = await fetch(`http://127.0.0.1:${ports.get("management") ?? 0}/healthz`);
      expect(answer.status).to.equal(200);
      expect(await container.stop()).to.equal(0);
    });

    it("the agent's has a code cache that its node takes", async () => {
      directory.replace(
        "takes-cache.cjs",
        `const vm = require("node:vm");
         vm.Script = class extends vm.Script {
           constructor(code, options) {
             super(code, options);
             if (options.cachedData !== undefined) console.log("rejected: " + this.cachedDataRejected);
           }
         };`,
      );
      const [node = "", ...words] = images.agent.settings.config.Entrypoint ?? [];
      container = new Container(filesOf("agent"), {
        entrypoint: [node, "--require=/flags/takes-cache.cjs", ...words],
        args: ["--version"],
        mounts: { "/flags": directory.path },
      });
      expect(await container.exit, container.output.join("\n")).to.equal(0);
      expect(container.output).to.include("rejected: false");
    });

    it("the agent answers over OFREP as PID 1 and ends with 0 on SIGTERM", async () => {
      const flags = { on: { state: "ENABLED", variants: { yes: true }, defaultVariant: "yes" } };
      directory.replace("agent.json", JSON.stringify({ flags }));
      const free = ["--port=0", "--management-port=0", "--sync-port=0", "--ofrep-port=0"];
      container = new Container(filesOf("agent"), {
        args: ["start", ...free, "--uri=file:/flags/agent.json"],
        env: { FLAGD_LOG_FORMAT: "json" },
        mounts: { "/flags": directory.path },
      });
      const ports = await container.ports(4);
      expectUnprivileged();
      const url = `http://127.0.0.1:${ports.get("ofrep") ?? 0}/ofrep/v1/evaluate/flags/on`;
      const evaluate = async (): Promise<unknown> => {
        const response = await fetch(url, {
          method: "POST",
          body: "{}",
          headers: { "content-type": "application/json" },
        });
        return response.json();
      };
      await eventually(
        async () => ((await evaluate()) as { value?: unknown }).value === true,
        "it has its flag",
      );
      expect(await container.stop()).to.equal(0);
    });
  });
});

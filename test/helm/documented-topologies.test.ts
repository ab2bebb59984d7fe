import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { readOptions } from "@bunting/runtime";
import { parse, stringify } from "yaml";
import { TempDirectory } from "../support/temp-directory.js";
import { helm, chartFolder, one, parseManifests, render, root, type Manifest } from "./support/chart.js";
import { runTool, skipWithout } from "./support/tool.js";

interface PodSpec {
  readonly containers: readonly [
    {
      readonly image: string;
      readonly args: readonly string[];
      readonly env?: readonly object[];
      readonly volumeMounts?: readonly object[];
    },
  ];
  readonly volumes?: readonly object[];
}

interface Overlay {
  readonly resources: readonly string[];
  readonly components?: readonly string[];
}

const redisVolume = { name: "bunting-backplane", secret: { secretName: "bunting-proxy-backplane" } };
const redisMount = { name: "bunting-backplane", mountPath: "/etc/bunting/backplane", readOnly: true };
const caOfRedis = { "backplane-ca-file": "/etc/bunting/backplane/ca.crt" };

const pages = ["docs/operate/replicas.md", "docs/operate/tiers.md"];

/** What these pages show of replicas that share a Redis, and of proxies that feed proxies, by Helm and by kustomize. */
describe("the examples of the pages on replicas and tiers", () => {
  describe("as values of the Helm chart", () => {
    skipWithout("BUNTING_HELM");

    it("share a Redis between three replicas", async () => {
      const manifests = await render(example("replicas: 3"));
      expect(one(manifests, "Deployment").spec).to.have.property("replicas", 3);
      await expectRedis(manifests, {});
      expect(egressPorts(manifests)).to.include.members([443, 6379]);
    });

    it("share a Redis with TLS, by the authority in its Secret", async () => {
      const values = example("replicas: 3");
      expect(example("backplane-ca-file")).to.deep.equal({ options: caOfRedis });
      const options = { ...(values["options"] as object), ...caOfRedis };
      await expectRedis(await render({ ...values, options }), {
        backplaneCaFile: "/etc/bunting/backplane/ca.crt",
      });
    });

    it("feed proxies from others, without permissions in the cluster", async () => {
      const manifests = await render(example("rbac: { create: false }"));
      await expectTier(manifests);
      expect(manifests.map(({ kind }) => kind)).not.to.include("CustomResourceDefinition");
    });

    it("are introduced by notes that say where the flags come from", async () => {
      const notes = async (values: object): Promise<string> => {
        const args = ["install", "bunting", chartFolder, "--namespace", "bunting-system", "--dry-run=client"];
        const { code, stdout, stderr } = await helm(args, { values });
        if (code !== 0) throw new Error(stderr);
        return stdout.slice(stdout.indexOf("\nNOTES:\n"));
      };
      expect(await notes(example("rbac: { create: false }"))).to.contain(
        "2 replicas of registry.example/bunting-proxy:0.1.0, with the flags of upstream:flags-a.example:8015,flags-b.example:8015.",
      );
      expect(await notes({ replicas: 1, rbac: { watchNamespaces: ["shop"] } })).to.contain(
        "1 replica of ghcr.io/bunting/bunting-proxy:0.1.0, with the flags of the namespaces shop.",
      );
    });
  });

  describe("as overlays of kustomize", () => {
    skipWithout("BUNTING_CLUSTER_BIN");
    let directory: TempDirectory;
    before(() => {
      directory = new TempDirectory();
    });
    after(() => directory.remove());

    /** Renders an overlay that is beside deploy in the documentation from where it is here. */
    async function kustomize(name: string, overlay: Overlay): Promise<Manifest[]> {
      const folder = directory.file(name);
      mkdirSync(folder);
      const at = (shown: string): string => path.relative(folder, path.join(root, "shown", shown));
      const here = {
        ...overlay,
        resources: overlay.resources.map(at),
        components: (overlay.components ?? []).map(at),
      };
      writeFileSync(path.join(folder, "kustomization.yaml"), stringify(here));
      const kubectl = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
      const { code, stdout, stderr } = await runTool(kubectl, ["kustomize", folder], {});
      expect([code, stderr]).to.deep.equal([0, ""]);
      return parseManifests(stdout);
    }

    it("share a Redis between three replicas", async () => {
      const overlay = example("deploy/kustomize/replicated") as unknown as Overlay;
      const manifests = await kustomize("replicas", overlay);
      expect(one(manifests, "Deployment").spec).to.have.property("replicas", 3);
      await expectRedis(manifests, {});
      const docs = shown();
      const component = "../deploy/kustomize/components/backplane-tls";
      expect(docs).to.contain(`\`components: [${component}]\``);
      await expectRedis(await kustomize("replicas-tls", { ...overlay, components: [component] }), {
        backplaneCaFile: "/etc/bunting/backplane/ca.crt",
      });
    });

    it("feed proxies from others, without permissions in the cluster", async () => {
      await expectTier(await kustomize("tier", example("components/upstream]") as unknown as Overlay));
    });
  });
});

function shown(): string {
  return pages.map((page) => readFileSync(path.join(root, page), "utf8")).join("\n");
}

/** The only YAML of these pages that contains this. */
function example(containing: string): Readonly<Record<string, unknown>> {
  const blocks = [...shown().matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const [found, another] = blocks.filter((block) => block.includes(containing));
  if (found === undefined || another !== undefined) throw new Error(`not exactly one has ${containing}`);
  return parse(found) as Record<string, unknown>;
}

async function expectRedis(manifests: readonly Manifest[], more: object): Promise<void> {
  const { containers, volumes } = podOf(manifests);
  expect(containers[0].env).to.deep.include({
    name: "BUNTING_BACKPLANE",
    valueFrom: { secretKeyRef: { name: "bunting-proxy-backplane", key: "address" } },
  });
  expect(containers[0].volumeMounts).to.deep.include(redisMount);
  expect(volumes).to.deep.include(redisVolume);
  expect(await optionsOf(manifests, { BUNTING_BACKPLANE: "rediss://redis:6379/0" })).to.include({
    backplane: "rediss://redis:6379/0",
    backplaneUserFile: "/etc/bunting/backplane/user",
    backplanePasswordFile: "/etc/bunting/backplane/password",
    ...more,
  });
}

async function expectTier(manifests: readonly Manifest[]): Promise<void> {
  expect(await optionsOf(manifests, {})).to.include({
    source: "upstream:flags-a.example:8015,flags-b.example:8015",
  });
  expect(egressPorts(manifests)).to.include(8015);
  expect(manifests.filter(({ kind }) => kind.includes("Role"))).to.deep.equal([]);
}

/** As the proxy reads them, of an image that users have built. */
async function optionsOf(manifests: readonly Manifest[], env: NodeJS.ProcessEnv): Promise<object> {
  const [{ image, args }] = podOf(manifests).containers;
  expect(image).to.equal("registry.example/bunting-proxy:0.1.0");
  const [command, ...argv] = args;
  expect(command).to.equal("start");
  const { options, warnings } = await readOptions(proxyOptionTable, { argv, env });
  expect(warnings).to.deep.equal([]);
  return options;
}

function podOf(manifests: readonly Manifest[]): PodSpec {
  return (one(manifests, "Deployment").spec as { template: { spec: PodSpec } }).template.spec;
}

function egressPorts(manifests: readonly Manifest[]): number[] {
  const { egress } = one(manifests, "NetworkPolicy").spec as {
    egress: readonly { readonly ports: readonly { readonly port: number }[] }[];
  };
  return egress.flatMap(({ ports }) => ports.map(({ port }) => port));
}

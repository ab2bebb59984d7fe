import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { applyType } from "../cluster/support/apply-type.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { operatorChartFolder, parseManifests, render, root, type Manifest } from "./support/chart.js";
import { runTool, skipWithout } from "./support/tool.js";

const folder = path.join(root, "examples/gitops");

/** Where the definitions of the types are that the examples use, in Go modules of their makers. */
const makers = {
  argocd: [
    [
      "github.com/argoproj/argo-cd/v3",
      "v3.2.0",
      "h1:m2eGAV+nXQGgzZbH5SyJD5laaPW27mzWXBrgisUHY/0=",
      "manifests/crds/application-crd.yaml",
    ],
  ],
  flux: [
    [
      "github.com/fluxcd/source-controller",
      "v1.7.3",
      "h1:gFfeBiNUgF0kFFGap/rrMeJqz+0Tod0ARENJO8w/UA8=",
      "config/crd/bases",
    ],
    [
      "github.com/fluxcd/helm-controller",
      "v1.4.0",
      "h1:rkm8rmB6Na7eNc4pJOnvtXEaJ19iKluRtayHKjBxcUM=",
      "config/crd/bases",
    ],
    [
      "github.com/fluxcd/kustomize-controller",
      "v1.7.3",
      "h1:SzNnGn/4ObAPEHHleM5U7y/AKxKXph3Vj6ZhteeXw8M=",
      "config/crd/bases",
    ],
  ],
} as const;

interface Application {
  readonly spec: {
    readonly source: {
      readonly chart?: string;
      readonly path?: string;
      readonly targetRevision: string;
      readonly helm?: { readonly releaseName: string; readonly valuesObject: object };
    };
    readonly destination: { readonly namespace: string };
    readonly ignoreDifferences?: readonly {
      readonly kind: string;
      readonly jqPathExpressions: readonly string[];
    }[];
  };
}

interface HelmRelease {
  readonly kind: string;
  readonly spec: {
    readonly releaseName: string;
    readonly targetNamespace: string;
    readonly chartRef: { readonly kind: string; readonly name: string };
    readonly driftDetection: {
      readonly ignore: readonly {
        readonly target: { readonly kind: string };
        readonly paths: readonly string[];
      }[];
    };
    readonly values: object;
  };
}

/** The documents of an example. */
function example(name: string): readonly unknown[] {
  const text = readFileSync(path.join(folder, name), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as unknown);
}

function webhooksOf(manifests: readonly Manifest[], kind: string): readonly unknown[] {
  return manifests.filter((each) => each.kind === kind).flatMap((each) => each["webhooks"] as unknown[]);
}

/** Neither Argo CD nor Flux runs here: their types judge the examples, and Helm and kustomize make of them what these tools make. */
describe("the examples for Argo CD and Flux", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");

  for (const [maker, modules] of Object.entries(makers))
    describe(`of ${maker}`, () => {
      const cluster = freshCluster({ crds: false });

      it("are accepted by an API server with the types of their maker, without an unknown field", async function () {
        for (const [module, version, sum, place] of modules) {
          const source = goModuleSource(module, version, sum);
          if (source === undefined) return this.skip();
          const types = path.join(source, place);
          const files = place.endsWith(".yaml")
            ? [types]
            : readdirSync(types).map((file) => path.join(types, file));
          for (const file of files) await applyType(cluster(), file);
        }
        for (const namespace of ["argocd", "flux-system"]) await cluster().createNamespace(namespace);
        const page = readFileSync(path.join(root, "docs/operate/gitops.md"), "utf8");
        const files = [...page.matchAll(/^kubectl apply -f (\S+)$/gm)]
          .map(([, file = ""]) => file)
          .filter((file) => file.startsWith(`examples/gitops/${maker}/`));
        const there = readdirSync(path.join(folder, maker)).map((file) => `examples/gitops/${maker}/${file}`);
        expect(files).to.have.members(there);
        for (const file of files) {
          const apply = ["apply", "--validate=strict", "-f", path.join(root, file)];
          const { code, stderr } = await cluster().tryKubectl(apply);
          expect([code, stderr], file).to.deep.equal([0, ""]);
        }
        // What judges must be able to refuse.
        const text = readFileSync(path.join(folder, maker, "operator.yaml"), "utf8");
        const wrong = await cluster().tryKubectl(
          ["apply", "--dry-run=server", "--validate=strict", "-f", "-"],
          text.replaceAll(/^( +)(repoURL|url): /gm, "$1$2x: "),
        );
        expect(wrong.code).to.not.equal(0);
        expect(wrong.stderr).to.match(/unknown field|Required value/);
      });
    });

  describe("give the chart values with which it is rendered", () => {
    const [application] = example("argocd/operator.yaml") as readonly Application[];
    const releases = example("flux/operator.yaml") as readonly HelmRelease[];
    const release = releases.find(({ kind }) => kind === "HelmRelease");
    const version = (JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string })
      .version;

    it("by Argo CD, which asks no cluster, with the policy that injects", async () => {
      const {
        source,
        destination,
        ignoreDifferences = [],
      } = application?.spec ?? expect.fail("no Application");
      expect([source.chart, source.targetRevision]).to.deep.equal([
        path.basename(operatorChartFolder),
        version,
      ]);
      const { releaseName = "", valuesObject = {} } = source.helm ?? {};
      const objects = await render(valuesObject, releaseName, destination.namespace, operatorChartFolder);
      expect(objects.map(({ kind }) => kind)).to.include("MutatingAdmissionPolicy");
      for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
        expect(webhooksOf(objects, kind), kind).to.not.have.length(0);
        const ignored = ignoreDifferences.find((each) => each.kind === kind)?.jqPathExpressions;
        expect(ignored).to.deep.equal([
          ".webhooks[]?.clientConfig.caBundle",
          ".webhooks[]?.clientConfig.service.path",
        ]);
      }
    });

    it("by Flux, which leaves alone what the operator writes into each webhook", async () => {
      const { releaseName, targetNamespace, chartRef, driftDetection, values } =
        release?.spec ?? expect.fail("no HelmRelease");
      expect(chartRef.kind).to.equal("OCIRepository");
      const all = {
        ...values,
        options: { ...(values as { options: object }).options, "inline-flags": true },
      };
      const objects = await render(all, releaseName, targetNamespace, operatorChartFolder);
      for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
        const count = webhooksOf(objects, kind).length;
        const expected = Array.from({ length: count }, (_, index) =>
          ["caBundle", "service/path"].map((field) => `/webhooks/${index}/clientConfig/${field}`),
        ).flat();
        expect(driftDetection.ignore.find(({ target }) => target.kind === kind)?.paths).to.deep.equal(
          expected,
        );
      }
    });
  });

  it("name a folder of which kustomize makes an application with its flags", async () => {
    const [application] = example("argocd/shop.yaml") as readonly Application[];
    const ofFlux = example("flux/shop.yaml") as readonly {
      readonly kind: string;
      readonly spec: { readonly path?: string };
    }[];
    const kustomization = ofFlux.find(({ kind }) => kind === "Kustomization");
    const named = application?.spec.source.path ?? "";
    expect(kustomization?.spec.path).to.equal(`./${named}`);
    const kubectl = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
    const { code, stdout, stderr } = await runTool(kubectl, ["kustomize", path.join(root, named)]);
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(parseManifests(stdout).map(({ kind }) => kind)).to.include.members([
      "FeatureFlag",
      "FeatureFlagSource",
      "Deployment",
    ]);
  });
});

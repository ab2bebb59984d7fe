import { expect } from "chai";
import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import { TempDirectory } from "../support/temp-directory.js";
import { chartFolder, helm, operatorChartFolder, refusal, render, type Manifest } from "./support/chart.js";
import { skipWithout } from "./support/tool.js";

const charts = { bunting: chartFolder, "bunting-operator": operatorChartFolder } as const;

/** Values with which the charts have most objects, and names as texts that YAML takes for numbers where nothing quotes them. */
const everything = {
  bunting: {
    crds: { install: false },
    priorityClassName: "5",
    serviceAccount: { name: "6" },
    tls: { mode: "on", secretName: "7", certManager: { issuerRef: { name: "8" } } },
    rbac: { watchNamespaces: ["9"] },
    serviceMonitor: { enabled: true },
    agents: { podMonitor: { enabled: true } },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true, namespace: "10" },
  },
  "bunting-operator": {
    crds: { install: false },
    priorityClassName: "5",
    serviceAccount: { name: "6" },
    proxyServiceAccount: { name: "7" },
    certificates: { mode: "cert-manager", secretName: "8", issuerRef: { name: "9" } },
    watchNamespaces: ["10"],
    podMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true },
  },
} as const;

const textFields = /(?:[nN]ame|[nN]amespace|\.(?:labels|matchLabels|annotations|values)\.[^.]+)$/;

/** Paths of what has to be a text, and is none. */
function numbersForTexts(value: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null)
    return textFields.test(at) && typeof value !== "string" ? [at] : [];
  return Object.entries(value).flatMap(([name, each]) => numbersForTexts(each, `${at}.${name}`));
}

const specOf = (manifests: readonly Manifest[], kind: string): Readonly<Record<string, unknown>> =>
  manifests.find((manifest) => manifest.kind === kind)?.spec as never;

describe("the Helm charts in clusters that others have set up", () => {
  skipWithout("BUNTING_HELM");

  for (const [name, chart] of Object.entries(charts) as [keyof typeof charts, string][]) {
    describe(name, () => {
      it("name things in texts, also where a release, a namespace or a Secret is called like a number", async () => {
        for (const release of ["7", "1e3"]) {
          const manifests = await render(everything[name], release, "123", chart);
          expect(manifests.flatMap((each) => numbersForTexts(each, each.kind))).to.deep.equal([]);
        }
      });

      it("have names that Services may have, however long a release's is, and with dots", async () => {
        for (const release of ["a".repeat(53), `a.${"b".repeat(51)}`, "flags.v2"]) {
          const services = (await render(everything[name], release, "flags", chart)).filter(
            ({ kind }) => kind === "Service",
          );
          expect(services).to.not.be.empty;
          for (const { metadata } of services)
            expect(metadata.name).to.match(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
        }
      });

      it("have nothing more where a list or a map of values is left empty, which is null in YAML", async () => {
        const empty = [
          ...["commonLabels", "podLabels", "podAnnotations", "options", "extraArgs", "extraEnv"],
          ...["nodeSelector", "tolerations", "affinity", "imagePullSecrets", "dashboards", "podMonitor"],
        ];
        const values = Object.fromEntries(empty.map((key) => [key, null]));
        expect(await render(values, "r", "flags", chart)).to.deep.equal(
          await render({}, "r", "flags", chart),
        );
      });

      it("are refused without what has no meaning when it is empty, by its name", async () => {
        for (const [values, sentence] of [
          [{ image: null }, "at '': missing property 'image'"],
          [{ crds: null }, "at '': missing property 'crds'"],
          [{ crds: { keep: null } }, "at '/crds': missing property 'keep'"],
          [{ rbac: { create: null } }, "at '/rbac': missing property 'create'"],
          [{ podDisruptionBudget: null }, "at '': missing property 'podDisruptionBudget'"],
          [{ image: { digest: "latest" } }, "at '/image/digest': 'latest' does not match pattern"],
          [{ fullnameOverride: "My.Flags" }, "at '/fullnameOverride': 'My.Flags' does not match pattern"],
          [{ extraEnv: [{ name: "A", value: 1 }] }, "at '/extraEnv/0/value': got number, want"],
        ] as const) {
          expect(await refusal(values, chart)).to.contain(sentence);
        }
      });
    });
  }

  it("keep dots in what is no Service: a release with a Service of another name keeps its objects", async () => {
    for (const [release, name] of [
      ["flags.v2", "flags.v2-bunting-operator"],
      // The last character that is left of it is the dot.
      [`${"a".repeat(50)}.b`, "a".repeat(50)],
    ] as const) {
      const values = { service: { name: "webhooks" } };
      const manifests = await render(values, release, "flags", operatorChartFolder);
      const deployments = manifests.filter(({ kind }) => kind === "Deployment");
      expect(deployments.map(({ metadata }) => metadata.name)).to.deep.equal([name]);
    }
  });

  it("take variables whose value is left empty", async () => {
    for (const chart of Object.values(charts)) {
      const manifests = await render(
        { extraEnv: [{ name: "HTTP_PROXY", value: null }] },
        "r",
        "flags",
        chart,
      );
      expect(JSON.stringify(specOf(manifests, "Deployment"))).to.contain('"HTTP_PROXY"');
    }
  });

  it("are parts of another chart, which switches each on and off", async () => {
    const directory = new TempDirectory();
    try {
      const dependencies = Object.entries(charts).map(([name, chart]) => {
        cpSync(chart, directory.file(path.join("charts", name)), { recursive: true });
        return { name, version: "*", condition: `${name}.enabled` };
      });
      const own = { apiVersion: "v2", name: "platform", version: "1.0.0", dependencies };
      writeFileSync(directory.file("Chart.yaml"), JSON.stringify(own));
      const values = {
        global: { team: "a" },
        bunting: { enabled: true },
        "bunting-operator": { enabled: false },
      };
      const manifests = await render(values, "p", "flags", path.dirname(directory.file("Chart.yaml")));
      const deployments = manifests.filter(({ kind }) => kind === "Deployment");
      expect(deployments.map(({ metadata }) => metadata.name)).to.deep.equal(["p-bunting-proxy"]);
    } finally {
      directory.remove();
    }
  });

  it("refuse a NetworkPolicy of the proxy that would not let it reach the API server", async () => {
    expect(await refusal({ networkPolicy: null })).to.contain("at '': missing property 'networkPolicy'");
    expect(await refusal({ networkPolicy: { apiServerPorts: null } })).to.contain(
      "at '/networkPolicy': missing property 'apiServerPorts'",
    );
  });

  it("leave the number of replicas to an autoscaler where it is null", async () => {
    for (const chart of Object.values(charts)) {
      const spec = specOf(await render({ replicas: null }, "r", "flags", chart), "Deployment");
      expect(spec["replicas"]).to.equal(null);
    }
  });

  it("tell service meshes that calls are gRPC where they are plaintext, TLS where nothing else is served, and nothing where both are", async () => {
    const told = async (mode: string): Promise<unknown> => {
      const tls = mode === "off" ? {} : { tls: { mode, secretName: "s" } };
      const { ports } = specOf(await render(tls), "Service") as { ports: [Record<string, unknown>] };
      return ports[0]["appProtocol"];
    };
    expect([await told("off"), await told("both"), await told("on")]).to.deep.equal([
      "grpc",
      undefined,
      "https",
    ]);
  });

  it("replace all Pods at once where the strategy says so, without bounds of another one", async () => {
    const spec = specOf(await render({ updateStrategy: { type: "Recreate" } }), "Deployment");
    expect(spec["strategy"]).to.deep.equal({ type: "Recreate" });
  });

  it("have each label once where values give one of the chart's", async () => {
    const labels = { "app.kubernetes.io/part-of": "monitoring", release: "prometheus" };
    const enabled = { enabled: true, labels };
    const values = { podMonitor: enabled, prometheusRule: enabled, dashboards: enabled };
    for (const chart of Object.values(charts)) {
      const labelled = (await render(values, "r", "flags", chart)).filter(
        ({ metadata }) => metadata.labels["release"] === "prometheus",
      );
      expect(labelled).to.have.length.at.least(3);
      for (const { metadata } of labelled)
        expect(metadata.labels["app.kubernetes.io/part-of"]).to.equal("bunting");
    }
  });

  it("count replicas in their notes by either name", async () => {
    const args = ["install", "bunting", chartFolder, "--dry-run=client"];
    const { stdout } = await helm(args, { values: { replicaCount: 5 } });
    expect(stdout).to.contain("5 replicas of ");
  });

  it("check FeatureFlags by what the oldest API server understands that the operator's chart accepts", async () => {
    const manifests = await render({}, "o", "flags", operatorChartFolder);
    const policies = manifests.filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
    expect(policies).to.not.be.empty;
    // Functions of CEL since 1.31, which refuse the whole policy before the version after the one that brought them.
    const younger =
      /\b(?:transform(?:List|Map|MapEntry)|ip|cidr|isIP|isCIDR|format|semver)\(|\.(?:all|exists|existsOne)\(\s*\w+,\s*\w+,/;
    for (const policy of policies) expect(JSON.stringify(policy.spec)).to.not.match(younger);
  });
});

import { expect } from "chai";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import type { ApiObject } from "../cluster/support/api-client.js";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { applyType } from "../cluster/support/apply-type.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { eventually } from "../support/event-queue.js";
import { readOciImage } from "../../scripts/images/oci-image.js";
import { packageCharts } from "../../scripts/release/package-charts.js";
import { Registry } from "../node/support/registry.js";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { chartFolder, helm, one, render, root, type Manifest } from "./support/chart.js";
import { skipWithout } from "./support/tool.js";

const namespace = "bunting-system";

/** Real installations, but for Pods: this API server has no nodes. */
describe("the Helm chart on a real API server", () => {
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const cluster = freshCluster({ crds: false });

  const run = async (args: readonly string[], values: unknown = {}): Promise<string> => {
    const { code, stdout, stderr } = await helm([...args, "--namespace", namespace], {
      values,
      kubeconfig: cluster().kubeconfig,
    });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const install = (values?: unknown, ...flags: readonly string[]): Promise<string> =>
    run(["upgrade", "--install", "bunting", chartFolder, ...flags], values);
  const uninstall = async (): Promise<void> => {
    const { code, stdout, stderr } = await helm(["uninstall", "bunting", "--namespace", namespace], {
      kubeconfig: cluster().kubeconfig,
    });
    if (code !== 0) throw new Error(stdout + stderr);
  };
  /** Everything of the release that is in the cluster, of all kinds that the chart can make and in all namespaces, as "Kind/name". */
  const present = async (): Promise<string[]> => {
    const list = await cluster().kubectl([
      "get",
      kinds.join(","),
      "--all-namespaces",
      "--ignore-not-found",
      "--selector=app.kubernetes.io/instance=bunting",
      "--output=json",
    ]);
    const { items } = (list === "" ? { items: [] } : JSON.parse(list)) as { items: ApiObject[] };
    return items.map(({ kind, metadata }) => `${String(kind)}/${metadata.name}`).sort();
  };
  const deployment = async (): Promise<Manifest> =>
    JSON.parse(
      await cluster().kubectl([
        "get",
        "deployment",
        "bunting-proxy",
        `--namespace=${namespace}`,
        "--output=json",
      ]),
    ) as Manifest;
  const argsOf = ({ spec }: Manifest): string[] =>
    (spec as { template: { spec: { containers: [{ args: string[] }] } } }).template.spec.containers[0].args;
  const crds = [
    "agentrollouts.bunting.dev",
    "extensions.bunting.dev",
    ...["featureflags", "featureflagsources", "flagds"].map((plural) => `${plural}.core.openfeature.dev`),
    "injections.bunting.dev",
    "inprocessconfigurations.core.openfeature.dev",
  ].map((name) => `CustomResourceDefinition/${name}`);
  let kinds: string[] = [];
  const flagSpec = { flags: { f: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } } };

  before("the kinds that the chart can make", async () => {
    const all = [
      ...(await render()),
      ...(await render({ rbac: { watchNamespaces: ["a"] }, dashboards: { enabled: true } })),
    ];
    kinds = [...new Set(all.map(({ kind }) => kind))];
  });

  before("a namespace that admits only restricted Pods", async () => {
    const labels = {
      "pod-security.kubernetes.io/enforce": "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
    };
    await cluster().api.create("/api/v1/namespaces", { metadata: { name: namespace, labels } });
  });

  it("is installed, upgraded, rolled back and uninstalled, and leaves the resource types and the flags", async () => {
    const notes = await install();
    expect(notes)
      .to.contain("bunting-proxy.bunting-system.svc:8015")
      .and.to.contain("`helm uninstall` leaves the resource types");
    await cluster().untilServed();
    await cluster().putFeatureFlag("default", "kept", flagSpec);
    const before = await present();
    expect(before).to.include.members([...crds, "Deployment/bunting-proxy", "Service/bunting-proxy"]);
    const first = await deployment();
    expect(argsOf(first)).to.deep.equal(["start"]);

    await install({
      options: { "log-format": "json" },
      service: { flagdProxyAlias: true },
      networkPolicy: { enabled: false },
    });
    expect(argsOf(await deployment())).to.deep.equal(["start", "--log-format=json"]);
    expect(await present())
      .to.include("Service/flagd-proxy-svc")
      .and.not.include("NetworkPolicy/bunting-proxy");

    const { code, stderr } = await helm(["rollback", "bunting", "1", "--namespace", namespace], {
      kubeconfig: cluster().kubeconfig,
    });
    expect(stderr + String(code)).to.equal("0");
    expect(await present()).to.deep.equal(before);
    expect((await deployment()).spec).to.deep.equal(first.spec);

    await uninstall();
    expect(await present()).to.deep.equal(crds);
    const kept = await cluster().api.request("GET", featureFlagPath("default", "kept"));
    expect(JSON.parse(kept.text)).to.have.nested.property("spec.flagSpec.flags.f.state", "ENABLED");

    await install();
    expect(await present()).to.deep.equal(before);
    expect((await cluster().listFeatureFlags("default")).items).to.have.length(1);
  });

  it("leaves the resource types when a later version of the values does not install them", async () => {
    await install({ crds: { install: false } });
    expect(await present()).to.include.members(crds);
    expect((await cluster().listFeatureFlags("default")).items).to.have.length(1);
    await install();
  });

  it("changes nothing when it is installed again, so that no Pod restarts", async () => {
    const { metadata: first } = await deployment();
    await install();
    const { metadata: second } = await deployment();
    expect((second as unknown as { generation: number }).generation).to.equal(
      (first as unknown as { generation: number }).generation,
    );
  });

  it("is the same from its package in a registry, so that no Pod restarts", async () => {
    const before = await present();
    const { metadata: first } = await deployment();
    const packages = path.join(cluster().directory, "charts");
    mkdirSync(packages);
    await packageCharts(packages);
    const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      version: string;
    };
    const layout = readOciImage(path.join(packages, "bunting"), version);
    const registry = new Registry(new Map([[`charts/bunting:${version}`, layout]]));
    await registry.listen("127.0.0.1", 0);
    try {
      const chart = `oci://127.0.0.1:${registry.port}/charts/bunting`;
      const told = await run(["upgrade", "bunting", chart, "--version", version, "--plain-http"]);
      expect(told).to.contain("bunting-proxy.bunting-system.svc:8015");
    } finally {
      registry.close();
    }
    expect(await present()).to.deep.equal(before);
    const { metadata: second } = await deployment();
    expect((second as unknown as { generation: number }).generation).to.equal(
      (first as unknown as { generation: number }).generation,
    );
  });

  it("is installed from its package where nothing was", async () => {
    const before = await present();
    await uninstall();
    const packages = path.join(cluster().directory, "charts");
    const archive = readdirSync(packages).find((file) => /^bunting-\d.*\.tgz$/.test(file)) ?? "";
    await run(["install", "bunting", path.join(packages, archive)]);
    expect(await present()).to.deep.equal(before);
    await install();
  });

  it("upgrades what the commit before had installed", async function () {
    const previous = previousChart(path.join(cluster().directory, "previous"));
    if (previous === undefined) this.skip();
    await uninstall();
    await run(["install", "bunting", previous]);
    const before = await present();
    await install();
    expect(await present()).to.include.members(
      before.filter((name) => name.startsWith("CustomResourceDefinition")),
    );
    // A type whose definition has changed is served anew.
    await cluster().untilServed();
    expect((await cluster().listFeatureFlags("default")).items).to.have.length(1);
  });

  it("takes over resource types that were applied by hand, with --take-ownership", async () => {
    await uninstall();
    for (const plural of ["featureflags", "featureflagsources", "flagds", "inprocessconfigurations"]) {
      await cluster().deleteCrd(plural);
    }
    await cluster().installCrds();
    const refused = await install().catch((error: unknown) => (error as Error).message);
    expect(refused).to.contain("cannot be imported into the current release");
    await install({}, "--take-ownership");
    expect(await present()).to.include.members(crds);
  });

  describe("with everything switched on", () => {
    const everything = {
      podMonitor: { enabled: true },
      agents: { podMonitor: { enabled: true } },
      prometheusRule: { enabled: true },
      dashboards: { enabled: true },
      service: { flagdProxyAlias: true },
      rbac: { watchNamespaces: ["default", namespace] },
    };

    before("the resource types of the Prometheus operator", async function () {
      const source = goModuleSource(
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
      );
      if (source === undefined) return this.skip();
      const folder = path.join(source, "example/prometheus-operator-crd");
      for (const plural of ["podmonitors", "servicemonitors", "prometheusrules"]) {
        const file = path.join(folder, `monitoring.coreos.com_${plural}.yaml`);
        await applyType(cluster(), file);
      }
      kinds = [...kinds, "PodMonitor", "ServiceMonitor", "PrometheusRule"];
    });

    for (const [monitor, values] of Object.entries({
      PodMonitor: everything,
      ServiceMonitor: { ...everything, podMonitor: { enabled: false }, serviceMonitor: { enabled: true } },
    })) {
      it(`is accepted without a warning, with a ${monitor}`, async () => {
        const objects = await render(values);
        const { code, stdout, stderr } = await cluster().tryKubectl(
          ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"],
          JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
        );
        expect(stderr).to.equal("");
        expect(code).to.equal(0);
        expect(stdout.trim().split("\n")).to.have.length(objects.length);
      });
    }

    it("is installed and uninstalled, and leaves the resource types only", async () => {
      await install(everything);
      expect(await present()).to.include.members([
        "PrometheusRule/bunting-proxy",
        "PodMonitor/bunting-agents",
      ]);
      await uninstall();
      expect(await present()).to.deep.equal(crds);
    });

    it("lets the proxy read flags in the namespaces that are named, and nothing else", async () => {
      await install(everything);
      await cluster().untilServed();
      const { token } = await cluster().createServiceAccountToken(namespace, "bunting-proxy");
      const statusOf = async (of: string): Promise<number> =>
        (await cluster().api.request("GET", of, { token })).status;
      expect(await statusOf(featureFlagPath("default"))).to.equal(200);
      expect(await statusOf(featureFlagPath("default", "kept"))).to.be.oneOf([200, 404]);
      expect(await statusOf(featureFlagPath(namespace))).to.equal(200);
      expect(await statusOf(featureFlagPath("kube-system"))).to.equal(403);
      expect(await statusOf(featureFlagPath())).to.equal(403);
      expect(await statusOf("/api/v1/namespaces/default/secrets")).to.equal(403);
    });
  });

  it("can be applied without Helm, as `helm template` renders it", async () => {
    const { stdout } = await helm(["template", "rendered", chartFolder, "--namespace", namespace], {
      values: { crds: { install: false } },
    });
    const apply = ["--server-side", "--validate=strict", "-f", "-"];
    const { code, stderr } = await cluster().tryKubectl(["apply", ...apply], stdout);
    expect([code, stderr]).to.deep.equal([0, ""]);
    await cluster().kubectl(["delete", "-f", "-"], stdout);
  });

  it("is installed by somebody who has rights in one namespace alone, which include those of the proxy", async () => {
    const team = "team";
    const group = "rbac.authorization.k8s.io";
    const roles = `/apis/${group}/v1/namespaces/${team}`;
    const every = ["get", "list", "watch", "create", "update", "patch", "delete"];
    const reading = ["get", "list", "watch"];
    await cluster().api.create("/api/v1/namespaces", { metadata: { name: team } });
    await cluster().api.create(`${roles}/roles`, {
      metadata: { name: "dev" },
      rules: [
        { apiGroups: ["", "apps", "networking.k8s.io", "policy", group], resources: ["*"], verbs: every },
        { apiGroups: ["core.openfeature.dev"], resources: ["featureflags"], verbs: reading },
        { apiGroups: ["bunting.dev"], resources: ["injections"], verbs: reading },
      ],
    });
    await cluster().api.create(`${roles}/rolebindings`, {
      metadata: { name: "dev" },
      roleRef: { apiGroup: group, kind: "Role", name: "dev" },
      subjects: [{ apiGroup: group, kind: "User", name: "dev" }],
    });
    const as = async (...args: readonly string[]): Promise<string> => {
      const { code, stderr } = await helm([...args, "--namespace", team, "--kube-as-user", "dev"], {
        kubeconfig: cluster().kubeconfig,
      });
      return `${stderr}${String(code)}`;
    };
    const settings = ["--set", "crds.install=false", "--set", `rbac.watchNamespaces={${team}}`];
    expect(await as("install", "flags", chartFolder, ...settings)).to.equal("0");
    expect(await as("uninstall", "flags")).to.equal("0");
  });

  it("makes Pods that the restricted profile admits", async () => {
    const { spec } = (one(await render(), "Deployment").spec as { template: Manifest }).template;
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "proxy", namespace }, spec };
    const { code, stdout, stderr } = await cluster().tryKubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"],
      JSON.stringify(pod),
    );
    expect([code, stdout.trim(), stderr]).to.deep.equal([
      0,
      "pod/proxy serverside-applied (server dry run)",
      "",
    ]);
  });

  it("deletes the resource types and all flags if crds.keep is false", async function () {
    this.timeout(240_000);
    await install({ crds: { keep: false } });
    // The API server makes the storage of a type that has changed anew. One that is deleted meanwhile may never go.
    const types = crds.map((crd) => path.basename(crd)).join(",");
    const areServed = async (): Promise<boolean> =>
      (await cluster().tryKubectl(["get", types, "--all-namespaces"])).code === 0;
    await eventually(areServed, "the resource types are served");
    await uninstall();
    // A resource type goes only once all of its objects have, which Helm does not wait for. The API server looks every five seconds, for up to a
    // minute, and again after a pause.
    await eventually(async () => (await present()).length === 0, "the end of the resource types", 150_000);
  });
});

/** The chart as it was before the last commit that changed it; undefined in a clone without history. */
function previousChart(target: string): string | undefined {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [, commit] = git("log", "-2", "--format=%H", "--", "deploy/helm/bunting").trim().split("\n");
    if (commit === undefined) return undefined;
    const archive = path.join(path.dirname(target), "previous.tar");
    git("archive", `--output=${archive}`, commit, "deploy/helm/bunting");
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["-xf", archive, "-C", target]);
    return path.join(target, "deploy/helm/bunting");
  } catch {
    return undefined;
  }
}

import { randomBytes } from "node:crypto";
import path from "node:path";
import { askExtension, type ExtensionObject, type ExtensionTarget } from "@bunting/extension";
import { openFeatureApiVersion, type Flagd } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "@bunting/operator/internal/api/injection.js";
import type { Container } from "@bunting/operator/internal/api/pod-manifest.js";
import { flagdObjects, type FlagdObjects } from "@bunting/operator/internal/desired/flagd/flagd-objects.js";
import { inject } from "@bunting/operator/internal/pod/inject.js";
import { portEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { planSources } from "@bunting/operator/internal/sources/source-plan.js";
import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { ExtensionProcess } from "../support/extension-process.js";
import { readRecipe, recipeNames, recipesFolder, type RecipeName } from "../support/extension-recipe.js";
import { sharedCluster } from "./support/use-cluster.js";

/** What the API server has of an object, as far as these tests look at it. */
interface StoredObject {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly initContainers?: readonly Container[];
    readonly template?: StoredObject & { readonly spec: { readonly containers: readonly Container[] } };
  };
}

interface Asked {
  readonly target: ExtensionTarget;
  readonly configuration?: JsonValue;
  readonly labels?: Readonly<Record<string, string>>;
}

describe("objects that the recipes of examples/extensions have changed, on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let extension: ExtensionProcess;
  let namespace: string;
  afterEach(() => extension.stop());

  /** Starts what the recipe's Deployment runs, and a namespace. */
  async function start(name: RecipeName, suffix = ""): Promise<void> {
    const { program, env } = readRecipe(name);
    extension = await ExtensionProcess.start(program, env);
    namespace = await cluster().createNamespace(`money-${randomBytes(4).toString("hex")}${suffix}`);
  }

  /** The object as the extension has it. */
  async function changed(
    object: object,
    { target, configuration, labels = {} }: Asked,
  ): Promise<ExtensionObject> {
    const answer = await askExtension(extension.url, {
      uid: "1",
      hook: "pre-create",
      target,
      operation: "CREATE",
      dryRun: false,
      namespace: { name: namespace, labels, annotations: {} },
      object: JSON.parse(JSON.stringify(object)) as ExtensionObject,
      ...(configuration === undefined ? {} : { configuration }),
    });
    return answer.kind === "replaced" ? answer.object : expect.fail(JSON.stringify(answer));
  }

  /** Applied as the operator applies. */
  async function applied(object: ExtensionObject): Promise<StoredObject> {
    const args = ["apply", "--server-side", "-o", "json", "-f", "-"];
    return JSON.parse(await cluster().kubectl(args, JSON.stringify(object))) as StoredObject;
  }

  /** The objects of a Flagd with an Ingress, as the operator makes them. */
  function flagd(annotations: Readonly<Record<string, string>> = {}): FlagdObjects {
    const metadata = { name: "flags", namespace };
    const spec = { sources: [{ source: "flags", provider: "kubernetes" }] };
    const source = { apiVersion: openFeatureApiVersion, kind: "FeatureFlagSource", metadata, spec } as const;
    const planned = planSources(
      "flags",
      { featureFlagSource: () => source, flagReaders: () => undefined },
      {
        namespace,
        proxyAddress: "proxy:8015",
        providerKubernetes: "proxy",
        crossNamespace: "deny",
        defaults: {},
      },
    );
    if (planned.kind === "refused") return expect.fail(planned.problems[0]?.message ?? "");
    const object: Flagd = {
      apiVersion: openFeatureApiVersion,
      kind: "Flagd",
      metadata: { ...metadata, uid: "5a0b7f5e-6b5e-4f0e-9e0e-3a1c1d1e1f10" },
      spec: {
        featureFlagSource: "flags",
        ingress: { enabled: true, hosts: ["flags.example.com"], annotations },
      },
    };
    return flagdObjects({
      flagd: object,
      plan: planned.plan,
      settings: {
        image: "registry.example/agent:1.0.0",
        ports: { evaluation: 8013, ofrep: 8016, sync: 8015, management: 8014 },
        resources: { limits: { memory: "64Mi" } },
        pod: { labels: {}, annotations: {}, imagePullSecrets: [] },
      },
      choosesUser: true,
    });
  }

  /** A Pod that was created with the sidecar that the extension answers for this entry. */
  async function podWith(
    asked: Omit<Asked, "target">,
    entry: InjectionEntry = portEntry,
  ): Promise<StoredObject> {
    const { container, annotations } = entry;
    const sidecar = {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Sidecar",
      metadata: { name: "storefront", namespace, annotations },
      spec: { container },
    };
    const answer = await changed(sidecar, { target: "Sidecar", ...asked });
    const compiled = {
      ...entry,
      container: (answer["spec"] as { readonly container: Container }).container,
      annotations: answer.metadata["annotations"] as InjectionEntry["annotations"],
    };
    const application = { name: "application", image: "registry.example/application:1" };
    const pod = {
      metadata: { generateName: "application-", namespace },
      spec: { containers: [application] },
    };
    const injected = inject({ apiVersion: "v1", kind: "Pod", ...pod }, compiled, "webhook");
    if (injected.kind !== "injected") return expect.fail(injected.reason);
    await cluster().kubectl(["apply", "--server-side", "-f", "-"], serviceAccount());
    const args = ["create", "-o", "json", "-f", "-"];
    return JSON.parse(await cluster().kubectl(args, JSON.stringify(injected.pod))) as StoredObject;
  }

  /** What a controller makes of each namespace, and nobody does here. */
  function serviceAccount(): string {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default", namespace },
    });
  }

  const resourcesOf = ({ spec }: StoredObject): unknown =>
    spec.initContainers?.find(({ name }) => name === "flagd")?.resources;

  it("have the annotations of their site, by namespace, and keep those of the Flagd", async () => {
    const issuer = "cert-manager.io/cluster-issuer";
    await start("site-annotations", "-pro");
    const { metadata } = await applied(await changed(flagd().ingress.object, { target: "Flagd" }));
    expect(metadata.annotations).to.include({ "kubernetes.io/tls-acme": "true", [issuer]: "letsencrypt" });
    const own = flagd({ [issuer]: "own" }).ingress.object;
    const kept = await applied(await changed(own, { target: "Flagd" }));
    expect(kept.metadata.annotations).to.include({ "kubernetes.io/tls-acme": "true", [issuer]: "own" });
  });

  it("have the quality of service of their namespace when the Pod is created", async () => {
    await start("qos", "-dev");
    expect(resourcesOf(await podWith({}))).to.deep.equal({
      requests: { cpu: "10m", memory: "32Mi" },
      limits: { memory: "64Mi" },
    });
    await extension.stop();
    await start("qos", "-pro");
    expect(resourcesOf(await podWith({}))).to.deep.equal({
      requests: { cpu: "100m", memory: "64Mi" },
      limits: { cpu: "500m", memory: "64Mi" },
    });
  });

  it("have a log shipper beside them, or what that of the node reads", async () => {
    await start("log-shipper");
    const { spec } = await applied(await changed(flagd().deployment, { target: "Flagd" }));
    expect(spec.template?.spec.containers.map(({ name }) => name)).to.deep.equal(["flagd", "log-shipper"]);
    expect(spec.template?.metadata.annotations).to.include({ "fluentbit.io/parser": "json" });
    const { metadata } = await podWith({ configuration: { exclude: true } });
    expect(metadata.annotations).to.include({ "fluentbit.io/exclude": "true" });
  });

  it("have their metrics collected if they ask for it", async () => {
    await start("optional-metrics");
    const { metadata } = await podWith({ configuration: { scrape: true } });
    expect(metadata.annotations).to.include({
      "prometheus.io/scrape": "true",
      "prometheus.io/port": "8014",
      "prometheus.io/path": "/metrics",
    });
    const asked = { target: "Flagd", configuration: { scrape: true, port: 9000 } } as const;
    const { spec } = await applied(await changed(flagd().deployment, asked));
    expect(spec.template?.metadata.annotations).to.include({ "prometheus.io/port": "9000" });
  });

  it("have a default annotation if a selector finds them", async () => {
    await start("default-annotation");
    const labels = { "example.com/zone": "public" };
    const ingress = await applied(await changed(flagd().ingress.object, { target: "Flagd", labels }));
    const backend = "nginx.ingress.kubernetes.io/default-backend";
    expect(ingress.metadata.annotations).to.include({ [backend]: "sorry-page" });
    const { metadata } = await applied(await changed(flagd().deployment, { target: "Flagd" }));
    expect(metadata.labels).to.include({ "example.com/cost-centre": "platform" });
  });

  it("have monitoring directives as annotations", async () => {
    await start("monitoring");
    const { metadata } = await podWith({ configuration: { availability: 99.9, latencyMs: 20 } });
    expect(metadata.annotations).to.include({
      "monitoring.example.com/slo-availability": "99.9",
      "monitoring.example.com/slo-latency-ms": "20",
    });
  });
});

describe("the workloads that docs/extensions/recipes.md applies, on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  const namespace = "bunting-extensions";
  before(async () => {
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    const made = [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } },
    ];
    for (const object of made)
      await cluster().kubectl(["apply", "--server-side", "-f", "-"], JSON.stringify(object));
  });

  for (const name of recipeNames)
    it(`${name} is taken with its configuration, and its Pods where they must be restricted`, async () => {
      const built = await cluster().kubectl(["kustomize", path.join(recipesFolder, name)]);
      const objects = parseAllDocuments(built).map((each) => each.toJS() as { readonly kind: string });
      expect(objects.filter(({ kind }) => kind === "Extension")).to.have.length(1);
      for (const object of objects) {
        // An operator of another test would ask it.
        const how = object.kind === "Extension" ? ["--dry-run=server"] : [];
        await cluster().kubectl(["apply", "--server-side", ...how, "-f", "-"], JSON.stringify(object));
        if (object.kind !== "Deployment") continue;
        const { template } = (
          object as unknown as { readonly spec: { readonly template: { readonly metadata: object } } }
        ).spec;
        const { metadata, ...rest } = template;
        const named = {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { ...metadata, generateName: `${name}-`, namespace },
          ...rest,
        };
        await cluster().kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(named));
      }
    });
});

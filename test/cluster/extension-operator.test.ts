import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { ExtensionProcess } from "../support/extension-process.js";
import { readRecipe, recipeNames } from "../support/extension-recipe.js";
import type { ApiObject } from "./support/api-client.js";
import { OperatorHome } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { sharedCluster } from "./support/use-cluster.js";

const seconds = 1_000;
const extensions = "/apis/bunting.dev/v1alpha1/extensions";
const configuration = "extensions.bunting.dev";

interface Annotated extends ApiObject {
  readonly metadata: ApiObject["metadata"] & {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** Each program of the recipes runs, and the operator asks all of them, where their Extensions have it: in one chain. */
describe("the recipes of examples/extensions, asked by an operator", function () {
  this.timeout(120 * seconds);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let operator: OperatorProcess;
  const processes: ExtensionProcess[] = [];
  /** A hook as FiaaS has them: it answers with the whole object, or with 404. */
  let fiaas: Server;

  before(async () => {
    fiaas = createServer((request, response) => {
      void json(request).then((body) => {
        const { object } = body as { readonly object: Annotated };
        const { metadata } = object;
        if (request.url !== "/fiaas/deploy/Service") return void response.writeHead(404).end();
        const annotations = { ...metadata.annotations, "example.com/by": "fiaas" };
        response.end(JSON.stringify({ ...object, metadata: { ...metadata, annotations } }));
      });
    });
    await new Promise<void>((resolve) => fiaas.listen(0, "127.0.0.1", resolve));
    const { port } = fiaas.address() as AddressInfo;
    for (const name of recipeNames) {
      const { program, env } = readRecipe(name);
      const hook = name === "fiaas" ? { FIAAS_HOOK_URL: `http://127.0.0.1:${port}` } : {};
      processes.push(await ExtensionProcess.start(program, { ...env, ...hook }));
    }
    const hosts = processes.map(({ url }) => `http://${new URL(url).host}=127.0.0.1`).join(",");
    home = await OperatorHome.create(cluster(), [
      ...["--extensions", `--extension-hosts=${hosts}`, "--flagd", "--webhook-port=0"],
    ]);
    const labels = { [`recipes-of-${home.shop}`]: "true", "example.com/zone": "public" };
    await cluster().api.request("PATCH", `/api/v1/namespaces/${home.shop}`, {
      body: { metadata: { labels } },
      contentType: "application/merge-patch+json",
    });
    for (const [index, name] of recipeNames.entries()) {
      const { extension } = readRecipe(name);
      const { hooks, objects, mutates } = extension.spec;
      const namespaceSelector = { matchLabels: { [`recipes-of-${home.shop}`]: "true" } };
      await cluster().api.apply(`${extensions}/${name}`, {
        ...extension,
        spec: { hooks, objects, mutates, url: processes[index]?.url, namespaceSelector },
      });
    }
    operator = home.start("operator-1");
    await operator.leads(60 * seconds);
  });
  after(async () => {
    for (const name of recipeNames) await cluster().api.request("DELETE", `${extensions}/${name}`);
    await home.stop();
    await Promise.all(processes.map((each) => each.stop()));
    fiaas.close();
  });

  async function put(kind: string, name: string, spec: object, configurations: object): Promise<void> {
    const annotations = Object.fromEntries(
      Object.entries(configurations).map(([key, value]) => [
        `${configuration}/${key}`,
        JSON.stringify(value),
      ]),
    );
    await cluster().api.apply(home.path(kind, name), {
      ...{ apiVersion: "core.openfeature.dev/v1beta1", kind },
      metadata: { name, namespace: home.shop, annotations },
      spec,
    });
  }

  async function made(group: string, plural: string, name: string): Promise<Annotated> {
    const path = `/apis/${group}/namespaces/${home.shop}/${plural}/${name}`;
    await eventually(
      async () => (await cluster().api.request("GET", path)).status === 200,
      `${plural} ${name}`,
      60 * seconds,
    );
    return await cluster().api.get(path);
  }

  it("give sidecars what applications ask for: metrics, monitoring directives, no logs", async () => {
    const spec = { sources: [{ source: "flags", provider: "flagd-proxy" }] };
    await put("FeatureFlagSource", "app", spec, {
      "optional-metrics": { scrape: true },
      monitoring: { availability: 99.9, latencyMs: 20 },
      "log-shipper": { exclude: true },
    });
    const injection = await home.untilCompiled('"app"');
    const { sources } = injection["spec"] as {
      readonly sources: { readonly app: { readonly annotations: object } };
    };
    expect(sources.app.annotations).to.include({
      "prometheus.io/scrape": "true",
      "monitoring.example.com/slo-availability": "99.9",
      "fluentbit.io/exclude": "true",
    });
  });

  it("give the objects of a Flagd what their site wants: annotations, labels, a container for logs", async () => {
    const ingress = { enabled: true, hosts: ["flags.example.com"] };
    await put("Flagd", "flags", { featureFlagSource: "app", ingress }, {});
    const { metadata } = await made("networking.k8s.io/v1", "ingresses", "flags");
    expect(metadata.annotations).to.include({
      "kubernetes.io/tls-acme": "true",
      "cert-manager.io/cluster-issuer": "letsencrypt-staging",
      "nginx.ingress.kubernetes.io/default-backend": "sorry-page",
    });
    const deployment = await made("apps/v1", "deployments", "flags");
    expect(deployment.metadata.labels).to.include({ "example.com/cost-centre": "platform" });
    expect(JSON.stringify(deployment)).to.contain('"name":"log-shipper"');
    const service: Annotated = await cluster().api.get(`/api/v1/namespaces/${home.shop}/services/flags`);
    expect(service.metadata.annotations).to.include({ "example.com/by": "fiaas" });
  });

  it("are healthy, each in its place", async () => {
    for (const name of recipeNames.filter((each) => each !== "owner"))
      await eventually(
        async () => {
          const text = JSON.stringify(await cluster().api.get(`${extensions}/${name}`));
          return text.includes('"reason":"Answered"') && text.includes('"order":');
        },
        `${name} is healthy`,
        60 * seconds,
      );
  });
});

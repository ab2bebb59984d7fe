import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import {
  askExtension,
  checkConformance,
  type ConformanceOptions,
  type ExtensionAnswer,
  type ExtensionObject,
  type ExtensionRequest,
} from "@bunting/extension";
import { expect } from "chai";
import { ExtensionProcess } from "../support/extension-process.js";
import { readRecipe, recipeNames, recipesFolder, type RecipeName } from "../support/extension-recipe.js";
import { repository } from "../support/markdown-pages.js";
import type { JsonValue } from "@bunting/protocol";

const sidecar: ExtensionObject = {
  apiVersion: "bunting.dev/v1alpha1",
  kind: "Sidecar",
  metadata: { name: "storefront", namespace: "money-dev", annotations: { "prometheus.io/port": "9000" } },
  spec: { container: { name: "flagd", resources: { limits: { cpu: "500m", memory: "64Mi" } } } },
};

const ingress: ExtensionObject = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "flags", namespace: "money-pro" },
};

const deployment: ExtensionObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "flags", labels: { "app.kubernetes.io/managed-by": "open-feature-operator" } },
  spec: { template: { metadata: {}, spec: { containers: [{ name: "flagd", image: "agent:1" }] } } },
};

const flags: ExtensionObject = {
  apiVersion: "core.openfeature.dev/v1beta1",
  kind: "FeatureFlag",
  metadata: { name: "storefront", annotations: {} },
  spec: { flagSpec: { flags: { banner: { metadata: { owner: "shop" } }, Cart: {} } } },
};

describe("the extensions of examples/extensions", () => {
  let extension: ExtensionProcess;
  afterEach(async () => {
    // As Kubernetes ends a Pod: nothing may hold it.
    expect(await extension.stop()).to.equal(0);
  });

  async function start(program: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    extension = await ExtensionProcess.start(program, env);
  }

  /** Starts what its Deployment runs, and asks about all that its Extension lists: nothing else may change. */
  async function startRecipe(name: RecipeName, configuration?: JsonValue): Promise<void> {
    const { program, env, extension: manifest } = readRecipe(name);
    await start(program, env);
    const { objects, mutates } = manifest.spec;
    const given = configuration === undefined ? {} : { configuration };
    await expectConformance({ targets: objects, ...(mutates === undefined ? {} : { mutates }), ...given });
  }

  function ask(object: ExtensionObject, changes: Partial<ExtensionRequest> = {}): Promise<ExtensionAnswer> {
    return askExtension(extension.url, {
      uid: "1",
      hook: object === flags ? "lint" : "pre-create",
      target: object === sidecar ? "Sidecar" : object === flags ? "FeatureFlag" : "Flagd",
      operation: "CREATE",
      dryRun: false,
      namespace: { name: object === ingress ? "money-pro" : "money-dev", labels: {}, annotations: {} },
      object,
      ...changes,
    });
  }

  async function changed(
    object: ExtensionObject,
    changes: Partial<ExtensionRequest> = {},
  ): Promise<ExtensionObject> {
    const answer = await ask(object, changes);
    return answer.kind === "replaced" ? answer.object : expect.fail(JSON.stringify(answer));
  }

  async function expectConformance(options: ConformanceOptions = {}): Promise<void> {
    for await (const { outcome, target, message } of checkConformance(extension.url, options))
      expect(outcome, `${target ?? "server"}: ${message}`).to.equal("passed");
  }

  const namespaced = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
    namespace: { name, labels, annotations: {} },
  });

  it("annotate Ingresses for their site's certificates, by namespace", async () => {
    await startRecipe("site-annotations");
    const issuer = "cert-manager.io/cluster-issuer";
    expect((await changed(ingress)).metadata["annotations"]).to.deep.equal({
      "kubernetes.io/tls-acme": "true",
      [issuer]: "letsencrypt",
    });
    const staging = await changed(ingress, namespaced("money-dev"));
    expect(staging.metadata["annotations"]).to.have.property(issuer, "letsencrypt-staging");
    expect(await ask(deployment)).to.deep.equal({ kind: "unchanged" });
  });

  it("give objects default annotations by selector, and keep those that they have", async () => {
    await startRecipe("default-annotation");
    const backend = "nginx.ingress.kubernetes.io/default-backend";
    const open = namespaced("shop", { "example.com/zone": "public" });
    expect((await changed(ingress, open)).metadata["annotations"]).to.deep.equal({ [backend]: "sorry-page" });
    const own = { ...ingress, metadata: { ...ingress.metadata, annotations: { [backend]: "own" } } };
    expect(await ask(own, open)).to.deep.equal({ kind: "unchanged" });
    expect(await ask(ingress)).to.deep.equal({ kind: "unchanged" });
    expect((await changed(deployment)).metadata["labels"]).to.include({
      "example.com/cost-centre": "platform",
    });
  });

  it("annotate with the rules that lie beside the program, and end with a rule that is wrong", async () => {
    await start("annotater/annotater.mjs");
    await expectConformance();
    expect(await changed(sidecar)).to.have.nested.property(
      "metadata.annotations.example\\.com/managed-by",
      "bunting",
    );
    const options = ["--conditions=@bunting/source", "--import=tsx"];
    const env = { ...process.env, RULES: path.join(recipesFolder, "qos/levels.json") };
    const wrong = spawnSync(
      process.execPath,
      [...options, path.join(recipesFolder, "annotater/annotater.mjs")],
      {
        env,
      },
    );
    expect([wrong.status, wrong.stderr.toString()]).to.deep.equal([1, wrong.stderr.toString()]);
    expect(wrong.stderr.toString()).to.include("rules are a list");
  });

  it("give sidecars the quality of service of their namespace", async () => {
    await startRecipe("qos");
    const resourcesIn = async (name: string): Promise<unknown> =>
      (await changed(sidecar, namespaced(name)))["spec"];
    expect(await resourcesIn("money-dev")).to.deep.equal({
      container: {
        name: "flagd",
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "64Mi" } },
      },
    });
    expect(await resourcesIn("money-pre")).to.have.nested.property("container.resources.limits.cpu", "250m");
    expect(await resourcesIn("money-pro")).to.have.nested.property(
      "container.resources.requests.cpu",
      "100m",
    );
    expect(await ask(sidecar, namespaced("money"))).to.deep.equal({ kind: "unchanged" });
  });

  it("annotate Pods for the log shipper of their node, and add a container where there is none of the node", async () => {
    await startRecipe("log-shipper");
    const shipped = await changed(deployment, { configuration: { parser: "flagd" } });
    expect(shipped).to.have.nested.property(
      "spec.template.metadata.annotations.fluentbit\\.io/parser",
      "flagd",
    );
    expect(shipped).to.have.nested.property("spec.template.spec.containers[0].image", "agent:1");
    expect(shipped).to.have.nested.property("spec.template.spec.containers[1].name", "log-shipper");
    const excluded = await changed(sidecar, { configuration: { exclude: true } });
    expect(excluded).to.deep.include({ spec: sidecar["spec"] });
    expect(excluded.metadata["annotations"]).to.have.property("fluentbit.io/exclude", "true");
  });

  it("have metrics collected of those who ask for it, and keep what an application has of its own", async () => {
    await startRecipe("optional-metrics", { scrape: true });
    expect(await ask(sidecar)).to.deep.equal({ kind: "unchanged" });
    const scraped = await changed(sidecar, { configuration: { scrape: true } });
    expect(scraped.metadata["annotations"]).to.deep.equal({
      "prometheus.io/scrape": "true",
      "prometheus.io/path": "/metrics",
      "prometheus.io/port": "9000",
    });
    const port = "spec.template.metadata.annotations.prometheus\\.io/port";
    expect(await changed(deployment, { configuration: { scrape: true } })).to.have.nested.property(
      port,
      "8014",
    );
    for (const [configuration, reason] of [
      [{ scrape: "yes" }, 'scrape is "yes": write true or false'],
      [{ scrape: true, port: 0 }, "port is 0, which is none: leave it out, or write that of the metrics"],
    ] as const)
      expect(await ask(sidecar, { configuration })).to.deep.equal({ kind: "refused", reason });
  });

  it("make annotations of monitoring directives, and say what is wrong with them before they are relied on", async () => {
    await startRecipe("monitoring", { availability: 99.9 });
    const directives = { availability: 99.9, latencyMs: 20 };
    expect((await changed(sidecar, { configuration: directives })).metadata["annotations"]).to.include({
      "monitoring.example.com/slo-availability": "99.9",
      "monitoring.example.com/slo-latency-ms": "20",
    });
    const wrong = { availability: 120, latency: 5 };
    const problems = [
      "availability is 120: write a percentage below 100",
      "latency is none of availability, latencyMs",
    ];
    expect(await ask(sidecar, { configuration: wrong })).to.deep.equal({
      kind: "refused",
      reason: problems[0],
    });
    expect(await ask(flags, { configuration: wrong })).to.deep.equal({
      kind: "commented",
      findings: problems.map((message) => ({ severity: "error", message, field: "/metadata/annotations" })),
    });
    expect(await ask(flags, { configuration: directives })).to.deep.equal({ kind: "unchanged" });
  });

  it("want an owner on each flag", async () => {
    await startRecipe("owner");
    await extension.stop();
    await start("owner/owner.mjs", { OWNERS: "shop, search", SEVERITY: "warning" });
    const answer = await ask(flags);
    const findings = answer.kind === "commented" ? answer.findings : [];
    expect(findings.map(({ severity, field }) => [severity, field])).to.deep.equal([
      ["warning", "/spec/flagSpec/flags/Cart"],
    ]);
    expect(await ask(flags, { configuration: { owner: "search" } })).to.deep.equal({ kind: "unchanged" });
  });

  describe("of which one asks a hook of FiaaS", () => {
    const asked: { readonly url: string | undefined; readonly body: unknown }[] = [];
    let answer: { readonly status: number; readonly body?: string } = { status: 404 };
    let hook: Server;
    before(async () => {
      hook = createServer((request, response) => {
        void request.toArray().then((chunks) => {
          const text = Buffer.concat(chunks as Buffer[]).toString();
          asked.push({ url: request.url, body: JSON.parse(text) as unknown });
          response.writeHead(answer.status).end(answer.body);
        });
      });
      await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    });
    after(() => hook.close());
    beforeEach(async () => {
      asked.length = 0;
      await start("fiaas/fiaas.mjs", {
        FIAAS_HOOK_URL: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/root`,
      });
    });

    it("asks by its path and its body, and takes the object that it answers", async () => {
      answer = { status: 200, body: JSON.stringify({ ...ingress, spec: { tls: [] } }) };
      expect(await changed(ingress, { configuration: { version: 3 } })).to.deep.equal({
        ...ingress,
        spec: { tls: [] },
      });
      const body = { object: ingress, application: { version: 3 } };
      expect(asked).to.deep.equal([{ url: "/root/fiaas/deploy/Ingress", body }]);
    });

    it("gives an object its type where the hook leaves it out, as FiaaS does", async () => {
      answer = { status: 200, body: JSON.stringify({ metadata: { name: "flags", labels: { a: "1" } } }) };
      expect(await changed(ingress)).to.deep.equal({
        apiVersion: ingress.apiVersion,
        kind: "Ingress",
        metadata: { name: "flags", labels: { a: "1" } },
      });
    });

    it("takes 404 and 304 for no change, 4xx for a refusal and 5xx for a failure", async () => {
      for (const status of [404, 304, 204]) {
        answer = { status };
        expect(await ask(ingress), String(status)).to.deep.equal({ kind: "unchanged" });
      }
      answer = { status: 400, body: "no certificate is left\n" };
      const reason = "the hook of FiaaS answered 400: no certificate is left";
      expect(await ask(ingress)).to.deep.equal({ kind: "refused", reason });
      answer = { status: 503 };
      expect((await ask(ingress)).kind).to.equal("failed");
    });
  });

  describe("of which FiaaS asks one as its hook", () => {
    let asked: ExtensionProcess;
    before(async () => {
      asked = await ExtensionProcess.start("optional-metrics/optional-metrics.mjs");
    });
    after(() => asked.stop());
    beforeEach(() =>
      start("fiaas/from-fiaas.mjs", { EXTENSION_URL: asked.url, EXTENSION_NAME: "optional-metrics" }),
    );

    /** As fiaas-deploy-daemon asks: its objects have neither apiVersion nor kind. */
    async function deploy(
      kind: string,
      configuration: unknown,
    ): Promise<{ readonly status: number; readonly text: string }> {
      const object = { metadata: deployment.metadata, spec: deployment["spec"] };
      const application = { version: 3, extensions: { "optional-metrics": configuration } };
      const response = await fetch(`${extension.url}/fiaas/deploy/${kind}`, {
        method: "POST",
        body: JSON.stringify({ object, application }),
      });
      return { status: response.status, text: await response.text() };
    }

    it("answers with the object as the extension has it, 404 for no change and 400 for a refusal", async () => {
      const { status, text } = await deploy("Deployment", { scrape: true });
      expect(status).to.equal(200);
      const scrape = "spec.template.metadata.annotations.prometheus\\.io/scrape";
      expect(JSON.parse(text)).to.have.nested.property(scrape, "true");
      expect((await deploy("Deployment", undefined)).status).to.equal(404);
      expect((await deploy("Other", { scrape: true })).status).to.equal(404);
      const refused = { status: 400, text: 'scrape is "yes": write true or false' };
      expect(await deploy("Deployment", { scrape: "yes" })).to.deep.equal(refused);
    });

    it("answers 500 where the extension is not there, and to what is no request", async () => {
      expect(
        (await fetch(`${extension.url}/fiaas/deploy/Service`, { method: "POST", body: "{" })).status,
      ).to.equal(500);
      await asked.stop();
      expect((await deploy("Deployment", { scrape: true })).status).to.equal(500);
    });
  });

  it("have a template with tests that pass", async () => {
    await start("template/extension.mjs");
    const options = ["--conditions=@bunting/source", "--import=tsx", "--test", "--test-reporter=tap"];
    const file = path.join(recipesFolder, "template/extension.test.mjs");
    const { status, stdout } = spawnSync(process.execPath, [...options, file], { cwd: repository });
    expect([status, stdout.toString()]).to.deep.equal([0, stdout.toString()]);
    expect(stdout.toString()).to.match(/^# pass 2$/m);
  });
});

describe("the manifests of examples/extensions", () => {
  it("are of all folders but those of programs and of the template", () => {
    const folders = readdirSync(recipesFolder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    expect(folders).to.have.members([...recipeNames, "annotater", "template"]);
  });

  for (const name of recipeNames)
    it(`${name}: the Extension leads to the Service, the Service to the Pods, and these to files that there are`, () => {
      const { extension, deployment, service, kustomization, program, env } = readRecipe(name);
      expect(extension).to.deep.include({
        apiVersion: "bunting.dev/v1alpha1",
        kind: "Extension",
        metadata: { name },
      });
      expect(extension.spec.service).to.include(service.metadata);
      expect(service.spec["ports"]).to.have.nested.property("[0].port", extension.spec.service.port);
      expect(service.spec["selector"]).to.deep.equal({ app: name });
      expect(deployment.spec).to.have.nested.property("template.metadata.labels.app", name);
      expect(kustomization.resources).to.deep.equal(["workload.yaml", "extension.yaml"]);
      expect(existsSync(path.join(recipesFolder, program)), program).to.equal(true);
      const files = Object.values(env).filter((value) => value.startsWith(recipesFolder));
      const generated = kustomization.configMapGenerator?.flatMap((each) => each.files) ?? [];
      expect(files).to.deep.equal(generated.map((file) => path.join(recipesFolder, name, file)));
      expect(kustomization.configMapGenerator?.map((each) => each.name) ?? [name]).to.deep.equal([name]);
    });
});

import { expect } from "chai";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { readOptions } from "@bunting/runtime";
import { goModuleSource } from "../../scripts/go-module-source.js";
import type { ApiObject } from "./support/api-client.js";
import { applyType } from "./support/apply-type.js";
import { sharedCluster } from "./support/use-cluster.js";

const base = path.resolve(import.meta.dirname, "../../deploy/kustomize/base");

/** Applies the manifests as to any cluster. This one has no nodes, so only admission is tested. */
describe("deploy/kustomize on a real API server", () => {
  const cluster = sharedCluster();
  let objects: ApiObject[];
  const one = (kind: string): ApiObject => {
    const [found, another] = objects.filter((object) => object["kind"] === kind);
    if (found === undefined || another !== undefined) throw new Error(`not exactly one ${kind}`);
    return found;
  };
  const dryRun = (object: unknown): ReturnType<ReturnType<typeof cluster>["tryKubectl"]> =>
    cluster().tryKubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"],
      JSON.stringify(object),
    );
  const pod = (spec: unknown): unknown => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "proxy", namespace: "bunting-system" },
    spec,
  });

  before(async () => {
    const rendered = await cluster().kubectl(["kustomize", base]);
    const list = await cluster().kubectl(["create", "--dry-run=client", "-o", "json", "-f", "-"], rendered);
    objects = parseObjects(list);
    // Not a dry run, because nothing can be dry-run in a namespace that does not exist.
    await cluster().api.create("/api/v1/namespaces", one("Namespace"));
  });

  it("has everything the proxy needs, and nothing in another namespace", () => {
    const kinds = objects.map(({ kind }) => kind as string).sort();
    expect(kinds).to.deep.equal([
      "ClusterRole",
      "ClusterRoleBinding",
      "Deployment",
      "Namespace",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "Service",
      "ServiceAccount",
    ]);
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace).filter(Boolean));
    expect([...namespaces]).to.deep.equal(["bunting-system"]);
  });

  it("is accepted as a whole, without a warning", async () => {
    const others = objects.filter(({ kind }) => kind !== "Namespace");
    const { code, stdout, stderr } = await dryRun({ apiVersion: "v1", kind: "List", items: others });
    expect(stderr).to.equal("");
    expect(code).to.equal(0);
    expect(stdout.trim().split("\n")).to.have.length(others.length);
  });

  it("makes pods that the restricted profile admits", async () => {
    const { code, stdout, stderr } = await dryRun(pod(templateOf(one("Deployment")).spec));
    expect(stderr).to.equal("");
    expect([code, stdout.trim()]).to.deep.equal([0, "pod/proxy serverside-applied (server dry run)"]);
  });

  it("would be refused without its security context: the check can fail", async () => {
    const { spec } = templateOf(one("Deployment"));
    expect(spec).to.have.property("securityContext");
    const withoutPods = without(spec, "securityContext");
    const withoutContainers = {
      ...spec,
      containers: spec.containers.map((container) => without(container, "securityContext")),
    };
    for (const broken of [withoutPods, withoutContainers]) {
      const { code, stderr } = await dryRun(pod(broken));
      expect(code).to.equal(1);
      expect(stderr).to.contain('violates PodSecurity "restricted:latest"');
    }
  });

  it("selects its own pods everywhere, by ports that they have", () => {
    const { metadata, spec } = templateOf(one("Deployment"));
    const service = one("Service")["spec"] as { selector: unknown; ports: unknown };
    const selectors = [
      (one("Deployment")["spec"] as { selector: Selector }).selector.matchLabels,
      service.selector,
      (one("PodDisruptionBudget")["spec"] as { selector: Selector }).selector.matchLabels,
      (one("NetworkPolicy")["spec"] as { podSelector: Selector }).podSelector.matchLabels,
      spec.topologySpreadConstraints[0]?.labelSelector.matchLabels,
    ];
    for (const selector of selectors) expect(metadata.labels).to.include(selector);
    const ports = new Map(spec.containers[0]?.ports.map(({ name, containerPort }) => [name, containerPort]));
    expect(Object.fromEntries(ports)).to.deep.equal({ sync: 8015, management: 8016 });
    expect(service.ports).to.deep.include({
      name: "sync",
      port: 8015,
      targetPort: "sync",
      appProtocol: "grpc",
    });
  });

  it("takes another image by kustomize's images, in an overlay", async () => {
    expect(templateOf(one("Deployment")).spec.containers[0]?.args).to.deep.equal(["start"]);
    const overlay = path.join(cluster().directory, "overlay");
    mkdirSync(overlay);
    const kustomization = {
      resources: [path.relative(overlay, base)],
      images: [{ name: "ghcr.io/bunting/bunting-proxy", newName: "registry.example/proxy", newTag: "v7" }],
    };
    writeFileSync(path.join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
    const images = /^ *image: .*$/gm.exec(await cluster().kubectl(["kustomize", overlay]));
    expect(images?.map((line) => line.trim())).to.deep.equal(["image: registry.example/proxy:v7"]);
  });

  it("is for known callers only in the overlay secure, which takes RBAC as a component", async () => {
    const overlay = path.join(cluster().directory, "secure");
    mkdirSync(overlay);
    const folder = (name: string): string => path.relative(overlay, path.resolve(base, "..", name));
    const render = async (components: readonly string[]): Promise<ApiObject[]> => {
      const kustomization = { resources: [folder("secure")], components: components.map(folder) };
      writeFileSync(path.join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
      const rendered = await cluster().kubectl(["kustomize", overlay]);
      return parseObjects(
        await cluster().kubectl(["create", "--dry-run=client", "-o", "json", "-f", "-"], rendered),
      );
    };
    const argsOf = (rendered: readonly ApiObject[]): unknown =>
      rendered
        .filter(({ kind }) => kind === "Deployment")
        .map((each) => templateOf(each).spec.containers[0]?.args);
    const rulesOf = (rendered: readonly ApiObject[]): string[] =>
      rendered
        .filter(({ kind }) => kind === "ClusterRole")
        .flatMap((role) => role["rules"] as { resources: string[]; verbs: string[] }[])
        .map(({ resources, verbs }) => `${resources.join()} ${verbs.join()}`)
        .sort();
    const secure = await render([]);
    const tls = [
      ...["--tls=on", "--management-tls=on"],
      ...["--tls-cert-path=/etc/bunting/tls/tls.crt", "--tls-key-path=/etc/bunting/tls/tls.key"],
    ];
    const args = ["start", "--auth=token", "--token-review", ...tls];
    expect(argsOf(secure)).to.deep.equal([args]);
    const { spec } = templateOf(secure.find(({ kind }) => kind === "Deployment") ?? one("Deployment"));
    const [container] = spec.containers;
    expect(container?.volumeMounts).to.deep.equal([
      { name: "bunting-tls", mountPath: "/etc/bunting/tls", readOnly: true },
    ]);
    expect(spec.volumes).to.deep.equal([
      { name: "bunting-tls", secret: { secretName: "bunting-proxy-tls" } },
    ]);
    for (const probe of [container?.readinessProbe, container?.livenessProbe])
      expect(probe?.httpGet).to.include({ port: "management", scheme: "HTTPS" });
    const service = secure.find(({ kind }) => kind === "Service");
    expect(service, "what service meshes are told").to.have.nested.property(
      "spec.ports[0].appProtocol",
      "https",
    );
    expect(secure.map(({ kind }) => kind)).to.include("NetworkPolicy");
    expect(rulesOf(secure)).to.deep.equal([
      "featureflags get,list,watch",
      "injections get,list,watch",
      "tokenreviews create",
    ]);
    const review = "subjectaccessreviews create";
    const withPages = await render(["components/management-auth"]);
    expect(argsOf(withPages)).to.deep.equal([[...args, "--management-auth=rbac"]]);
    expect(rulesOf(withPages).filter((rule) => rule === review)).to.deep.equal([review]);
    const withAll = await render(["components/rbac-authorization", "components/management-auth"]);
    expect(argsOf(withAll)).to.deep.equal([[...args, "--authorize=rbac", "--management-auth=rbac"]]);
    expect(rulesOf(withAll)).to.include(review);
    const others = withAll.filter(({ kind }) => kind !== "Namespace");
    const { code, stderr } = await dryRun({ apiVersion: "v1", kind: "List", items: others });
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(await dryRun(pod(spec))).to.include({ code: 0, stderr: "" });
  });

  it("is three replicas that share a Redis, of which one may be evicted, in the overlay replicated", async () => {
    const rendered = parseObjects(
      await cluster().kubectl(
        ["create", "--dry-run=client", "-o", "json", "-f", "-"],
        await cluster().kubectl(["kustomize", path.resolve(base, "../replicated")]),
      ),
    );
    const specOf = (kind: string): Record<string, unknown> =>
      rendered.find((object) => object["kind"] === kind)?.["spec"] as Record<string, unknown>;
    expect(specOf("Deployment")["replicas"]).to.equal(3);
    const budget = specOf("PodDisruptionBudget");
    expect([budget["minAvailable"], budget["maxUnavailable"]]).to.deep.equal([undefined, 1]);
    const ports = (specOf("NetworkPolicy") as { egress: { ports: { port: number }[] }[] }).egress.flatMap(
      (rule) => rule.ports.map(({ port }) => port),
    );
    expect(ports).to.include.members([6379, 443]);
    const { spec } = templateOf(rendered.find(({ kind }) => kind === "Deployment") ?? one("Deployment"));
    const [container] = spec.containers;
    const [, ...args] = container?.args ?? [];
    const { options, warnings } = await readOptions(proxyOptionTable, {
      argv: args,
      env: { BUNTING_BACKPLANE: "redis://redis:6379/0" },
    });
    expect(warnings).to.deep.equal([]);
    expect(options.backplaneUserFile).to.equal("/etc/bunting/backplane/user");
    expect(options.backplanePasswordFile).to.equal("/etc/bunting/backplane/password");
    expect(container).to.have.nested.property("env[0].name", "BUNTING_BACKPLANE");
    expect(container).to.have.nested.property(
      "env[0].valueFrom.secretKeyRef.name",
      "bunting-proxy-backplane",
    );
    expect(container?.volumeMounts).to.deep.equal([
      { name: "bunting-backplane", mountPath: "/etc/bunting/backplane", readOnly: true },
    ]);
    expect(spec.topologySpreadConstraints).to.have.length(1);
    const others = rendered.filter(({ kind }) => kind !== "Namespace");
    const { code, stderr } = await dryRun({ apiVersion: "v1", kind: "List", items: others });
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(await dryRun(pod(spec))).to.include({ code: 0, stderr: "" });
  });

  it("has its certificate made by cert-manager with a component of its own", async function () {
    const certManager = goModuleSource(
      "github.com/cert-manager/cert-manager",
      "v1.21.2",
      "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
    );
    if (certManager === undefined) return this.skip();
    const type = path.join(certManager, "deploy/crds/cert-manager.io_certificates.yaml");
    await applyType(cluster(), type);
    const overlay = path.join(cluster().directory, "cert-manager");
    mkdirSync(overlay);
    const folder = (name: string): string => path.relative(overlay, path.resolve(base, "..", name));
    const patch = JSON.stringify([{ op: "replace", path: "/spec/issuerRef/name", value: "mine" }]);
    const kustomization = {
      resources: [folder("secure")],
      components: [folder("components/tls-cert-manager")],
      patches: [{ target: { kind: "Certificate", name: "bunting-proxy" }, patch }],
    };
    writeFileSync(path.join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
    const rendered = parseObjects(
      await cluster().kubectl(
        ["create", "--dry-run=client", "-o", "json", "-f", "-"],
        await cluster().kubectl(["kustomize", overlay]),
      ),
    );
    const certificate = rendered.find(({ kind }) => kind === "Certificate");
    expect(certificate).to.have.nested.property("spec.issuerRef.name", "mine");
    expect(certificate).to.have.nested.property("spec.secretName", "bunting-proxy-tls");
    expect(await dryRun(certificate)).to.include({ code: 0, stderr: "" });
    const wrong = { ...certificate, spec: { ...(certificate?.["spec"] as object), dnsName: "x" } };
    expect((await dryRun(wrong)).code, "the check can fail").to.equal(1);
  });

  describe("once its RBAC is there", () => {
    const account = "system:serviceaccount:bunting-system:bunting-proxy";
    const canI = async (verb: string, resource: string, ...more: string[]): Promise<boolean> => {
      const { stdout } = await cluster().tryKubectl([
        "auth",
        "can-i",
        verb,
        resource,
        `--as=${account}`,
        ...more,
      ]);
      return stdout.trim() === "yes";
    };

    before(async () => {
      for (const kind of ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]) {
        await cluster().kubectl(["apply", "--server-side", "-f", "-"], JSON.stringify(one(kind)));
      }
    });

    it("lets the proxy read flags in every namespace", async () => {
      for (const verb of ["get", "list", "watch"]) {
        expect(await canI(verb, "featureflags.core.openfeature.dev", "--all-namespaces"), verb).to.equal(
          true,
        );
      }
    });

    it("lets it do nothing else beyond what every ServiceAccount may", async () => {
      const rulesOf = async (name: string): Promise<string[]> => {
        const user = `--as=system:serviceaccount:bunting-system:${name}`;
        // As in a token: the API server adds groups to the name only there.
        const groups = [
          "system:serviceaccounts",
          "system:serviceaccounts:bunting-system",
          "system:authenticated",
        ];
        const listed = await cluster().kubectl([
          "auth",
          "can-i",
          "--list",
          "--no-headers",
          user,
          ...groups.map((group) => `--as-group=${group}`),
        ]);
        return listed
          .trim()
          .split("\n")
          .map((line) => line.replace(/\s+/g, " ").trim());
      };
      const [ours, anyones] = [await rulesOf("bunting-proxy"), await rulesOf("somebody-else")];
      expect(anyones).not.to.be.empty;
      expect(ours.filter((rule) => !anyones.includes(rule)).sort()).to.deep.equal([
        "featureflags.core.openfeature.dev [] [] [get list watch]",
        "injections.bunting.dev [] [] [get list watch]",
      ]);
    });

    it("refuses the proxy's own token everything but reading flags", async () => {
      const { token, namespace } = await cluster().createServiceAccountToken(
        "bunting-system",
        "bunting-proxy",
      );
      const status = async (method: string, path: string, body?: unknown): Promise<number> =>
        (await cluster().api.request(method, path, { token, body })).status;
      const flags = "/apis/core.openfeature.dev/v1beta1";
      expect(await status("GET", `${flags}/featureflags`)).to.equal(200);
      expect(
        await status("GET", `${flags}/namespaces/default/featureflags?fieldSelector=metadata.name%3Da`),
      ).to.equal(200);
      expect(await status("GET", `${flags}/featureflags?watch=1&timeoutSeconds=1`)).to.equal(200);
      const created = {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlag",
        metadata: { name: "x" },
      };
      expect(await status("POST", `${flags}/namespaces/${namespace}/featureflags`, created)).to.equal(403);
      expect(await status("DELETE", `${flags}/namespaces/${namespace}/featureflags/x`)).to.equal(403);
      expect(await status("GET", `${flags}/featureflagsources`)).to.equal(403);
      for (const path of ["/api/v1/secrets", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/configmaps"]) {
        expect(await status("GET", path), path).to.equal(403);
      }
    });
  });
});

interface Selector {
  readonly matchLabels: unknown;
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly securityContext?: unknown;
    readonly volumes?: unknown;
    readonly topologySpreadConstraints: readonly {
      readonly labelSelector: Selector;
    }[];
    readonly containers: readonly {
      readonly image: string;
      readonly args: readonly string[];
      readonly securityContext?: unknown;
      readonly volumeMounts?: unknown;
      readonly readinessProbe?: { readonly httpGet: object };
      readonly livenessProbe?: { readonly httpGet: object };
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    }[];
  };
}

function templateOf(deployment: ApiObject): PodTemplate {
  return (deployment["spec"] as { template: PodTemplate }).template;
}

function without<T extends object, K extends keyof T>(object: T, key: K): Omit<T, K> {
  const copy = { ...object };
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- of a copy, by a key that is known to the compiler.
  delete copy[key];
  return copy;
}

/** kubectl prints several objects as JSON one after the other, or as a List. */
function parseObjects(text: string): ApiObject[] {
  return text
    .split(/^(?=\{$)/m)
    .filter((part) => part.trim() !== "")
    .map((part) => JSON.parse(part) as ApiObject)
    .flatMap((object) => (object["kind"] === "List" ? (object["items"] as ApiObject[]) : [object]));
}

import { writeFileSync } from "node:fs";
import path from "node:path";
import { helm, root } from "../../helm/support/chart.js";
import { applyType } from "../../cluster/support/apply-type.js";
import { Authority } from "../../support/certificates.js";
import { registryName } from "./addresses.js";
import type { Node } from "./node.js";

/** As the open-feature-operator's documentation installs it: its objects are in a namespace that the chart makes, the release is in another one. */
export const stockNames = {
  release: "openfeature",
  releaseNamespace: "default",
  namespace: "open-feature-operator-system",
  deployment: "open-feature-operator-controller-manager",
} as const;

/** The image of the proxy that it deploys. */
export const stockProxyImage = `${registryName}/proxy:2`;

const { release, releaseNamespace, namespace, deployment } = stockNames;
const webhooks = {
  mutatingwebhookconfigurations: "open-feature-operator-mutating-webhook-configuration",
  validatingwebhookconfigurations: "open-feature-operator-validating-webhook-configuration",
};

/** A release of the open-feature-operator's chart, with what stands in for its manager and for cert-manager. Its sidecars and its proxy are our images. */
export class StockRelease {
  readonly #node: Node;
  readonly #authority: Authority;

  private constructor(node: Node, authority: Authority) {
    this.#node = node;
    this.#authority = authority;
  }

  /** @param directory for files */
  static async install(node: Node, chart: string, directory: string): Promise<StockRelease> {
    const stock = new StockRelease(node, await Authority.create());
    for (const kind of ["Certificate", "Issuer"]) {
      const file = path.join(directory, `${kind}.json`);
      writeFileSync(file, JSON.stringify(certManagerType(kind)));
      await applyType(node.cluster, file);
    }
    const values = {
      controllerManager: { manager: { image: { repository: `${registryName}/stock-manager`, tag: "1" } } },
      sidecarConfiguration: { image: { repository: `${registryName}/agent`, tag: "1" } },
      flagdProxyConfiguration: { image: { repository: `${registryName}/proxy`, tag: "2" } },
    };
    // The resource types are there already.
    const args = ["install", release, chart, "--namespace", releaseNamespace, ...owningTypes];
    const { code, stdout, stderr } = await helm(args, { values, kubeconfig: node.cluster.kubeconfig });
    if (code !== 0) throw new Error(stdout + stderr);
    await stock.#createSecrets();
    await stock.untilServed();
    return stock;
  }

  /** Puts the certificate into the webhooks, as cert-manager does, and waits until the manager answers. */
  async untilServed(): Promise<void> {
    const caBundle = Buffer.from(this.#authority.cert).toString("base64");
    for (const [plural, name] of Object.entries(webhooks)) {
      const patch = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value: caBundle }];
      await this.#node.kubectl(["patch", plural, name, "--type=json", `--patch=${JSON.stringify(patch)}`]);
    }
    const status = ["rollout", "status", `deployment/${deployment}`, "--timeout=120s"];
    await this.#node.kubectl(["-n", namespace, ...status]);
  }

  /** Removes all of it but the resource types, which other tests need as they were. */
  async remove(): Promise<void> {
    const { kubectl } = { kubectl: (args: readonly string[]) => this.#node.kubectl(args) };
    for (const [plural, name] of Object.entries(webhooks))
      await kubectl(["delete", plural, name, "--ignore-not-found"]);
    await kubectl(["-n", releaseNamespace, "delete", "secrets", `--selector=owner=helm,name=${release}`]);
    const roles = await kubectl(["get", "clusterroles,clusterrolebindings", "--output=name"]);
    const own = roles.split("\n").filter((each) => each.includes("/open-feature-operator-"));
    await kubectl(["delete", ...own]);
    await kubectl(["delete", "namespace", namespace]);
    await kubectl(["apply", "--server-side", "--force-conflicts", "-k", path.join(root, "deploy/crds")]);
  }

  async #createSecrets(): Promise<void> {
    const service = `open-feature-operator-webhook-service.${namespace}.svc`;
    const { cert, key } = await this.#authority.issue({ commonName: service, domains: [service] });
    const data = { "tls.crt": cert, "tls.key": key, "ca.crt": this.#authority.cert };
    const secrets = ["webhook-server-cert", "metrics-server-cert"].map((name) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      stringData: data,
    }));
    await this.#node.apply(...secrets);
  }
}

/** What Helm needs where other tests have installed the resource types. */
export const owningTypes = ["--take-ownership", "--force-conflicts"] as const;

/** A type of cert-manager, with any fields. */
function certManagerType(kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: "cert-manager.io",
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

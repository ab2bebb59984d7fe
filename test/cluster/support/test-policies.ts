import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import type { Cluster } from "./cluster.js";

const directory = path.resolve(import.meta.dirname, "../../../deploy/policies");
const operatorName = "system:serviceaccount:bunting-system:bunting-operator";

/** A policy or a binding. */
export interface PolicyObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Policies of deploy/policies that hold only in namespaces of one test, because all files of a run share the cluster: they have names of their
 * own, and their bindings select a label.
 */
export class TestPolicies {
  readonly #cluster: Cluster;
  readonly #id = randomBytes(4).toString("hex");
  readonly #paths: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /**
   * @param file the file's name: `inject.yaml`
   * @param operator the user that counts as the operator
   */
  async install(file: string, operator = operatorName): Promise<void> {
    const text = readFileSync(path.join(directory, file), "utf8").replaceAll(operatorName, operator);
    for (const document of parseAllDocuments(text)) await this.add(document.toJS() as PolicyObject);
  }

  /** A policy or a binding of the test's own. */
  async add(policy: PolicyObject): Promise<void> {
    const object = this.#own(policy);
    const plural = object.kind.replace(/y$/, "ie").toLowerCase();
    const at = `/apis/admissionregistration.k8s.io/v1/${plural}s/${object.metadata.name}`;
    await this.#cluster.api.apply(at, object);
    this.#paths.push(at);
  }

  /** How often the API server has evaluated mutations of these policies since its start, for whatever Pod. */
  async mutations(): Promise<number> {
    const { text } = await this.#cluster.api.request("GET", "/metrics");
    const counts = text
      .split("\n")
      .filter((line) => line.startsWith("apiserver_mutating_admission_policy_check_total{"))
      .filter((line) => /policy="([^"]*)"/.exec(line)?.[1]?.endsWith(`.${this.#id}`) === true)
      .map((line) => Number(line.slice(line.lastIndexOf(" "))));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** A namespace in which they hold. */
  async createNamespace(labels: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = await this.#cluster.createNamespace();
    await this.#cluster.api.patch(`/api/v1/namespaces/${name}`, {
      metadata: { labels: { ...labels, "test-policies": this.#id } },
    });
    return name;
  }

  async remove(): Promise<void> {
    for (const at of this.#paths.splice(0)) await this.#cluster.api.delete(at);
  }

  #own({ metadata, spec, ...object }: PolicyObject): PolicyObject {
    const isBinding = object.kind.endsWith("Binding");
    const { policyName } = spec as { readonly policyName?: string };
    const namespaceSelector = { matchLabels: { "test-policies": this.#id } };
    return {
      ...object,
      metadata: { ...metadata, name: `${metadata.name}.${this.#id}` },
      spec: isBinding
        ? { ...spec, policyName: `${policyName ?? ""}.${this.#id}`, matchResources: { namespaceSelector } }
        : spec,
    };
  }
}

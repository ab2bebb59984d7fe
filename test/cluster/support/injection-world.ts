import { injectionFormat, type InjectionSpec } from "@bunting/operator/internal/api/injection.js";
import type { PodManifest } from "@bunting/operator/internal/api/pod-manifest.js";
import { eventually } from "../../support/event-queue.js";
import type { Cluster } from "./cluster.js";
import { TestPolicies } from "./test-policies.js";

/** Two namespaces with the same rules for Pods. In one, the API server injects by policy what its Injection says; in the other nobody does. */
export interface InjectionWorld {
  readonly injecting: string;
  readonly plain: string;
}

/** Creates Pods in dry runs, in namespaces where the API server injects and in others. */
export class InjectionWorlds {
  readonly #cluster: Cluster;
  readonly policies: TestPolicies;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.policies = new TestPolicies(cluster);
  }

  static async create(cluster: Cluster): Promise<InjectionWorlds> {
    const worlds = new InjectionWorlds(cluster);
    await worlds.policies.install("inject.yaml");
    return worlds;
  }

  /** @param labels of both namespaces */
  async world(
    entries: Partial<InjectionSpec>,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<InjectionWorld> {
    const injecting = await this.policies.createNamespace(labels);
    const plain = await this.#cluster.createNamespace();
    await this.#cluster.api.patch(`/api/v1/namespaces/${plain}`, { metadata: { labels } });
    await this.putInjection(injecting, entries);
    return { injecting, plain };
  }

  /** Writes the Injection of a namespace, and waits until the policy obeys it: it reads Injections by a watch of the API server's. */
  async putInjection(namespace: string, entries: Partial<InjectionSpec>): Promise<void> {
    const probe = `probe-${Date.now()}`;
    const variables = { digest: probe, revision: "", volumes: [], mounts: [], imagePullSecrets: [] };
    const entry = { ...variables, env: [], annotations: {} };
    const spec: InjectionSpec = {
      format: injectionFormat,
      sources: {},
      ...entries,
      inProcess: { ...entries.inProcess, [probe]: entry },
    };
    await this.#cluster.api.apply(`/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections/bunting`, {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Injection",
      metadata: { name: "bunting" },
      spec,
    });
    const annotations = {
      "openfeature.dev/enabled": "true",
      "openfeature.dev/inprocessconfiguration": probe,
    };
    const pod = { metadata: { name: "probe", annotations }, spec: restrictedSpec };
    await eventually(async () => {
      const { metadata } = await this.create(namespace, pod);
      return metadata.annotations?.["bunting.dev/injected"] === `policy ${probe}`;
    }, "the API server injects what the Injection says");
  }

  /** The Pod as a dry run would store it, without what each creation makes anew. */
  async create(namespace: string, pod: PodManifest): Promise<PodManifest> {
    const created = await this.#cluster.api.create(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
    const generated = created.metadata["generateName"] === undefined ? [] : ["name"];
    const metadata = without(created.metadata, [
      "uid",
      "creationTimestamp",
      "managedFields",
      "namespace",
      ...generated,
    ]);
    return { ...without(created, ["status"]), metadata } as unknown as PodManifest;
  }
}

function without(object: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Accepted by the Pod Security Standard `restricted`. */
export const restrictedSpec = {
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    {
      name: "app",
      image: "shop.example/app",
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
  ],
};

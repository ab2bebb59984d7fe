import { readFileSync } from "node:fs";
import path from "node:path";
import type { Answer, Followed } from "../application/answers.js";
import { eventually } from "../../support/event-queue.js";
import { registryName } from "./addresses.js";
import type { Node } from "./node.js";

const fixture = path.join(import.meta.dirname, "../../fixtures/stock-operator/workload-pod.json");

export interface WorkloadOptions {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What the operator puts into --sources: the address of the proxy, and the FeatureFlag as namespace/name. */
  readonly proxy: string;
  readonly flags: string;
  /** Changes what the operator has made, for what it cannot be asked for. */
  readonly edit?: (pod: WorkloadPod) => void;
}

export interface BareWorkloadOptions {
  readonly namespace: string;
  readonly name: string;
  /** The text of the annotation. */
  readonly source: string;
}

/** A Pod template with the application and the annotations by which it asks for flags. */
export function bareTemplate(source: string): { readonly metadata: object; readonly spec: object } {
  return {
    metadata: {
      annotations: { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": source },
    },
    spec: { containers: [{ name: "app", image: `${registryName}/application:1` }] },
  };
}

/** The Pod as the stock operator makes it: test/fixtures/stock-operator/workload-pod.json with our images, and the source that it was asked for. */
export interface WorkloadPod {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    initContainers: [WorkloadContainer];
    containers: [WorkloadContainer];
    volumes?: unknown[];
    [field: string]: unknown;
  };
}

export interface WorkloadContainer {
  image: string;
  args?: string[];
  env: { name: string; value: string }[];
  volumeMounts?: unknown[];
  [field: string]: unknown;
}

/** A Pod with an application and the sidecar that the stock operator injects. */
export class Workload {
  readonly namespace: string;
  readonly name: string;
  readonly #node: Node;

  private constructor(node: Node, { namespace, name }: Pick<WorkloadOptions, "namespace" | "name">) {
    this.#node = node;
    this.namespace = namespace;
    this.name = name;
  }

  /** Creates the Pod, and does not wait for it. */
  static async create(node: Node, options: WorkloadOptions): Promise<Workload> {
    const pod = workloadPod(options);
    options.edit?.(pod);
    await untilPodsAreAdmitted(node, options.namespace);
    await node.cluster.api.create(`/api/v1/namespaces/${options.namespace}/pods`, pod);
    return new Workload(node, options);
  }

  /**
   * Creates a Pod with nothing but the application and the annotation that names FeatureFlagSources, and does not wait for it: what else it
   * has is an operator's doing.
   */
  static async createBare(node: Node, options: BareWorkloadOptions): Promise<Workload> {
    await untilPodsAreAdmitted(node, options.namespace);
    await node.cluster.api.create(`/api/v1/namespaces/${options.namespace}/pods`, {
      metadata: { name: options.name, ...bareTemplate(options.source).metadata },
      spec: bareTemplate(options.source).spec,
    });
    return new Workload(node, options);
  }

  /** Creates the Pod, and waits until it is ready. */
  static async start(node: Node, options: WorkloadOptions): Promise<Workload> {
    const workload = await Workload.create(node, options);
    await workload.untilReady();
    return workload;
  }

  async untilReady(): Promise<void> {
    await this.#node.kubectl([
      "-n",
      this.namespace,
      "wait",
      `pod/${this.name}`,
      "--for=condition=Ready",
      "--timeout=60s",
    ]);
  }

  /**
   * Waits until the application gets answers from the sidecar, which may have no flags yet. The kubelet starts the application as soon as the
   * sidecar's process is there, before it listens.
   */
  async untilRunning(): Promise<void> {
    const answers = async (): Promise<boolean> => {
      const { podIP } = await this.status();
      if (podIP === undefined) return false;
      return this.ask("ofrep", "any").then(
        ({ value, errorCode }) => value !== undefined || errorCode !== undefined,
        () => false,
      );
    };
    await eventually(answers, `${this.name} to answer its application`, 60_000);
  }

  async status(): Promise<PodStatus> {
    const pod = await this.#node.cluster.api.get(this.path);
    return pod["status"] as PodStatus;
  }

  /** The sidecar's state. */
  async sidecar(): Promise<ContainerStatus> {
    const { initContainerStatuses = [] } = await this.status();
    const [sidecar] = initContainerStatuses;
    if (sidecar === undefined) throw new Error(`${this.name} has no sidecar yet`);
    return sidecar;
  }

  get path(): string {
    return `/api/v1/namespaces/${this.namespace}/pods/${this.name}`;
  }

  /** The status with which a URL answers the application, or why it does not. */
  reach(url: string): Promise<Answer> {
    return this.#call("GET", `/reach?url=${encodeURIComponent(url)}`) as Promise<Answer>;
  }

  async delete(): Promise<void> {
    await this.#node.kubectl([
      "-n",
      this.namespace,
      "delete",
      "pod",
      this.name,
      "--wait",
      "--grace-period=1",
    ]);
  }

  /** What a container has logged. */
  logs(container = "flagd"): Promise<string> {
    return this.#node.kubectl(["-n", this.namespace, "logs", this.name, "-c", container]);
  }

  /** Waits until the sidecar has logged this. */
  async untilLogs(text: string): Promise<void> {
    // A kubelet that has just been restarted does not know its Pods yet, and has no log of them.
    const isLogged = async (): Promise<boolean> => (await this.logs().catch(() => "")).includes(text);
    await eventually(isLogged, `${text} in the sidecar's log`);
  }

  /** Asks the sidecar through the application. */
  ask(way: "ofrep" | "grpc", flag: string): Promise<Answer> {
    return this.#call("GET", `/${way}?flag=${flag}`) as Promise<Answer>;
  }

  /** Asks for all flags so many times, and says how many there were the last time. */
  async askForAll(times: number): Promise<unknown> {
    return ((await this.#call("GET", `/bulk?times=${times}`)) as Answer).value;
  }

  /** Waits until both ways answer with this value. */
  async untilAnswers(flag: string, value: unknown, withinMs = 60_000): Promise<void> {
    for (const way of ["ofrep", "grpc"] as const) {
      let last: unknown;
      const answers = async (): Promise<boolean> => {
        last = await this.ask(way, flag).catch(String);
        return (last as Answer).value === value;
      };
      const what = `${flag} to be ${String(value)} over ${way}`;
      await eventually(answers, what, withinMs).catch((error: unknown) => {
        throw new Error(`the last answer: ${JSON.stringify(last)}`, { cause: error });
      });
    }
  }

  /** The application asks for this flag from now on, both ways, again and again. */
  async follow(flag: string): Promise<void> {
    await this.#call("POST", `/follow?flag=${flag}`);
  }

  followed(): Promise<Followed> {
    return this.#call("GET", "/followed") as Promise<Followed>;
  }

  async #call(method: string, pathAndQuery: string): Promise<unknown> {
    const { podIP } = await this.status();
    const response = await fetch(`http://${podIP}:8080${pathAndQuery}`, { method });
    return response.json();
  }
}

export interface PodStatus {
  readonly phase: string;
  readonly podIP?: string;
  readonly startTime?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime: string;
  }[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

export interface ContainerStatus {
  readonly containerID?: string;
  readonly imageID?: string;
  readonly restartCount: number;
  readonly ready: boolean;
  readonly state: Readonly<Record<string, { readonly startedAt?: string; readonly reason?: string }>>;
  readonly lastState: Readonly<
    Record<string, { readonly reason?: string; readonly exitCode?: number; readonly finishedAt?: string }>
  >;
}

/** Until a controller has made the default ServiceAccount of a new namespace. */
async function untilPodsAreAdmitted(node: Node, namespace: string): Promise<void> {
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  const exists = async (): Promise<boolean> =>
    (await node.cluster.api.request("GET", account)).status === 200;
  await eventually(exists, `the default ServiceAccount of ${namespace}`);
}

function workloadPod({ namespace, name, labels = {}, proxy, flags }: WorkloadOptions): WorkloadPod {
  const { annotations, initContainers, containers } = JSON.parse(readFileSync(fixture, "utf8")) as {
    readonly annotations: Readonly<Record<string, string>>;
    readonly initContainers: [WorkloadContainer];
    readonly containers: [WorkloadContainer];
  };
  const [sidecar] = initContainers;
  const [application] = containers;
  sidecar.image = `${registryName}/agent:1`;
  application.image = `${registryName}/application:1`;
  const args = sidecar.args ?? [];
  const source = { uri: proxy, provider: "grpc", selector: `core.openfeature.dev/${flags}` };
  args[args.indexOf("--sources") + 1] = JSON.stringify([source]);
  return {
    metadata: { name, namespace, annotations, labels } as WorkloadPod["metadata"],
    spec: { initContainers, containers },
  };
}

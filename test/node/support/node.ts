import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { OciImage } from "../../../scripts/images/oci-image.js";
import { Cluster } from "../../cluster/support/cluster.js";
import { ClusterProcess } from "../../cluster/support/cluster-process.js";
import { eventually } from "../../support/event-queue.js";
import { addresses } from "./addresses.js";
import { clusterDns } from "./cluster-dns.js";
import { containerdSocket, writeContainerdConfig } from "./container-runtime.js";
import { environment } from "./environment.js";
import { kubeProxyArguments } from "./kube-proxy.js";
import { kubeletArguments } from "./kubelet.js";
import { PolicyEnforcer } from "./policy-enforcer.js";
import { Registry } from "./registry.js";

type Component = "containerd" | "kubelet" | "kube-scheduler" | "kube-proxy";

/** A cluster of one node, with kubelet, containerd, Services, cluster DNS, NetworkPolicies and a registry. Runs in the namespaces of `npm run test:node`. */
export class Node {
  readonly cluster: Cluster;
  readonly #directory: string;
  readonly #processes: Readonly<Record<Component, ClusterProcess>>;
  readonly #registry: Registry;
  readonly #ending = new AbortController();
  #enforcing: Promise<void> = Promise.resolve();

  private constructor(directory: string, cluster: Cluster, registry: Registry) {
    const binaries = environment("BUNTING_NODE_BIN");
    const component = (name: Component, binary = path.join(binaries, name)): ClusterProcess =>
      new ClusterProcess(binary, name, directory);
    this.#directory = directory;
    this.cluster = cluster;
    this.#registry = registry;
    this.#processes = {
      containerd: component("containerd", "/usr/bin/containerd"),
      kubelet: component("kubelet"),
      "kube-scheduler": component("kube-scheduler"),
      "kube-proxy": component("kube-proxy"),
    };
  }

  /**
   * Starts a node, and waits until cluster DNS answers. The caller must stop it.
   *
   * @param images of all Pods, by `repository:tag`
   */
  static async start(images: ReadonlyMap<string, OciImage>): Promise<Node> {
    const { node: address, services, apiServerPort: port } = addresses;
    const cluster = await Cluster.start({ controllerManager: true, forNodes: { address, services, port } });
    const node = new Node(environment("BUNTING_NODE_DIRECTORY"), cluster, new Registry(images));
    try {
      await node.#start();
    } catch (error) {
      console.error(node.#describeProcesses());
      await node.stop();
      throw error;
    }
    return node;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#enforcing;
    // Containers end with the namespaces.
    await Promise.all(Object.values(this.#processes).map((component) => component.kill()));
    this.#registry.close();
    await this.cluster.stop();
  }

  kubectl(args: readonly string[], stdin?: string): Promise<string> {
    return this.cluster.kubectl(args, stdin);
  }

  /** Creates or updates objects. */
  async apply(...objects: readonly unknown[]): Promise<void> {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    await this.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(list));
  }

  /** Deletes the namespaces that tests have made, without waiting: two cores have room for what the Pods of a few files request. */
  async deleteTestNamespaces(): Promise<void> {
    const { items } = await this.cluster.api.list("/api/v1/namespaces");
    const names = items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("test-"));
    for (const name of names) await this.cluster.api.request("DELETE", `/api/v1/namespaces/${name}`);
  }

  /** SIGKILL and a start; resolves when the node has reported itself Ready again. */
  async restartKubelet(): Promise<void> {
    const kubelet = this.#processes.kubelet;
    await kubelet.kill();
    const since = Date.now();
    this.#startKubelet();
    await eventually(
      async () => (await this.#leaseRenewedMs()) > since,
      "a heartbeat of the kubelet",
      60_000,
    );
    await this.#untilReady();
  }

  async #start(): Promise<void> {
    await this.#registry.listen(addresses.node, addresses.registryPort);
    const { containerd } = this.#processes;
    containerd.start(["--config", writeContainerdConfig(this.#directory)]);
    await eventually(() => existsSync(containerdSocket), "containerd", 30_000);
    const { kubeconfig } = this.cluster;
    const scheduler = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
    this.#processes["kube-scheduler"].start([
      ...scheduler.map((option) => `--${option}=${kubeconfig}`),
      "--leader-elect=false",
      "--secure-port=0",
    ]);
    this.#startKubelet();
    this.#processes["kube-proxy"].start(kubeProxyArguments(this.#directory, kubeconfig));
    this.#enforcing = new PolicyEnforcer(this.cluster, tokenIn(kubeconfig)).run(this.#ending.signal);
    await this.apply(...clusterDns.items);
    await this.#untilReady();
    await this.kubectl(["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s"]);
  }

  /** With the rights of an administrator: what a node may do is not what these tests are about. */
  #startKubelet(): void {
    this.#processes.kubelet.start(kubeletArguments(this.#directory, this.cluster.kubeconfig));
  }

  async #untilReady(): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      const condition = await this.#condition();
      return condition?.status === "True";
    };
    await eventually(isReady, "the node to be Ready", 60_000);
  }

  /** By the lease, which the kubelet renews at its start and every 10 s: times in the node's status are whole seconds, and come every 5 min. */
  async #leaseRenewedMs(): Promise<number> {
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node";
    const response = await this.cluster.api.request("GET", path);
    const { spec } = JSON.parse(response.text) as { spec?: { renewTime?: string } };
    return Date.parse(spec?.renewTime ?? "");
  }

  async #condition(): Promise<NodeCondition | undefined> {
    const response = await this.cluster.api.request("GET", "/api/v1/nodes/node");
    const { status } = JSON.parse(response.text) as { status?: { conditions?: NodeCondition[] } };
    return status?.conditions?.find(({ type }) => type === "Ready");
  }

  #describeProcesses(): string {
    return Object.values(this.#processes)
      .map((component) => `${component.isRunning ? "runs" : "has ended"}${component.describeLog()}`)
      .join("\n");
  }
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
}

function tokenIn(kubeconfig: string): string {
  const { users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as {
    users: readonly { readonly user: { readonly token: string } }[];
  };
  return users[0]?.user.token ?? "";
}

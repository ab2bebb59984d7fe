import { setTimeout as delay } from "node:timers/promises";
import { proxyTlsKeys, proxyTlsSecret } from "@bunting/operator/internal/desired/proxy-security/proxy-tls.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../../support/proxy-process.js";
import { TcpSwitch } from "../../support/tcp-switch.js";
import { TempDirectory } from "../../support/temp-directory.js";
import type { Cluster } from "./cluster.js";
import type { ServiceAccount } from "./service-account.js";

interface ProxyPod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly [{ readonly args: readonly string[] }];
  };
}

/** A Pod, and the process that runs for it. */
interface Running {
  readonly proxy: ProxyProcess;
  /** Resolves when it has ended. */
  ending: Promise<unknown> | undefined;
}

const mountPath = "/etc/bunting/tls";

/**
 * The kubelet of the proxy's Pods, and their Service, where there are none: the controllers of a Deployment make and delete the Pods, and for each a real proxy
 * runs on this machine, with the Pod's own arguments.
 */
export class PlayedProxies {
  readonly #cluster: Cluster;
  readonly #account: ServiceAccount;
  readonly #service: TcpSwitch;
  readonly #secret = new TempDirectory();
  readonly #running = new Map<string, Running>();
  readonly #abort = new AbortController();
  readonly #playing: Promise<void>;
  /** How many have been started. */
  started = 0;

  private constructor(cluster: Cluster, account: ServiceAccount, service: TcpSwitch) {
    this.#cluster = cluster;
    this.#account = account;
    this.#service = service;
    this.#playing = this.#play(this.#abort.signal);
  }

  /** @param account of the proxies, in the namespace of the operator */
  static async start(cluster: Cluster, account: ServiceAccount): Promise<PlayedProxies> {
    return new PlayedProxies(cluster, account, await TcpSwitch.start());
  }

  /** The port of the Service. */
  get port(): number {
    return this.#service.port;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#playing;
    await Promise.all([...this.#running.values()].map(({ proxy }) => proxy.process.stop("SIGKILL")));
    await this.#service.close();
    this.#secret.remove();
  }

  async #play(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // What fails is tried again, as kubelets do.
      await this.#look().catch(() => undefined);
      await delay(50);
    }
  }

  async #look(): Promise<void> {
    const { items } = await this.#cluster.api.list(`${this.#path("pods")}?labelSelector=app%3Dflagd-proxy`);
    for (const pod of items as unknown as readonly ProxyPod[]) await this.#work(pod);
  }

  async #work({ metadata: { name, deletionTimestamp }, spec }: ProxyPod): Promise<void> {
    const running = this.#running.get(name);
    if (deletionTimestamp !== undefined) await this.#end(name, running);
    else if (running === undefined) await this.#start(name, spec);
  }

  async #start(name: string, { nodeName, containers: [{ args }] }: ProxyPod["spec"]): Promise<void> {
    // A Pod without a node is deleted at once, and no proxy would end in peace.
    if (nodeName === undefined) {
      const target = { apiVersion: "v1", kind: "Node", name: "played" };
      await this.#cluster.api.request("POST", `${this.#path("pods")}/${name}/binding`, {
        body: { apiVersion: "v1", kind: "Binding", metadata: { name }, target },
      });
    }
    const needsSecret = args.some((arg) => arg.includes(mountPath));
    if (needsSecret && !(await this.#mountSecret())) return;
    const own = args.filter(
      (arg, index) => ![arg, args[index - 1]].includes("--management-port") && arg !== "start",
    );
    const proxy = await startProxyInPod(
      this.#account,
      own.map((arg) => arg.replace(mountPath, this.#secret.path)),
    );
    this.started++;
    this.#running.set(name, { proxy, ending: undefined });
    this.#route();
    await this.#cluster.api.request("PATCH", `${this.#path("pods")}/${name}/status`, {
      body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
      contentType: "application/merge-patch+json",
    });
  }

  async #end(name: string, running: Running | undefined): Promise<void> {
    if (running !== undefined && running.ending === undefined) {
      running.ending = running.proxy.process.stop();
      this.#route();
    }
    await running?.ending;
    this.#running.delete(name);
    await this.#cluster.api.request("DELETE", `${this.#path("pods")}/${name}?gracePeriodSeconds=0`);
  }

  /** New connections go to those that are not ending. */
  #route(): void {
    const serving = [...this.#running.values()].filter(({ ending }) => ending === undefined);
    this.#service.setBackends(serving.map(({ proxy }) => portOf(proxy)));
  }

  /** False if there is no Secret yet: a kubelet starts no container before that. */
  async #mountSecret(): Promise<boolean> {
    const { status, text } = await this.#cluster.api.request(
      "GET",
      `${this.#path("secrets")}/${proxyTlsSecret}`,
    );
    if (status !== 200) return false;
    const { data } = JSON.parse(text) as { readonly data: Readonly<Record<string, string>> };
    for (const key of Object.values(proxyTlsKeys))
      this.#secret.replace(key, Buffer.from(data[key] ?? "", "base64").toString());
    return true;
  }

  #path(plural: string): string {
    return `/api/v1/namespaces/${this.#account.namespace}/${plural}`;
  }
}

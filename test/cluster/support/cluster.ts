import { spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../../support/event-queue.js";
import { ApiClient, type ApiList, type ApiObject } from "./api-client.js";
import { AuditLog, auditPolicy, type AuditedRequest } from "./audit-log.js";
import { ClusterProcess } from "./cluster-process.js";
import { emulatedVersion } from "./emulated-version.js";
import { freePort } from "../../support/free-port.js";
import { patient } from "../../support/patience.js";
import { reaper } from "./reaper.js";
import { ServiceAccount } from "./service-account.js";

/*
 * A control plane of real processes on 127.0.0.1: etcd, kube-apiserver and, where wanted, kube-controller-manager. There are no nodes (those of test/node join it): pods stay
 * Pending, Services route nowhere, and without the controller-manager nothing is garbage-collected and no namespace ends.
 *
 *   describe("…", () => {
 *     const cluster = sharedCluster();                  // or freshCluster({ apiServerFlags: ["--watch-cache=false"] })
 *     it("…", async () => {
 *       const namespace = await cluster().createNamespace();
 *       const account = await cluster().createServiceAccountToken(namespace, "proxy");
 *       await cluster().grantStockRole(account);
 *       await cluster().putFeatureFlag(namespace, "checkout", { flags: {} });
 *       // start what is to be tested with account.environment and account.directory …
 *       cluster().openWatches(account);                 // counted from the audit log: only this account's watches
 *     });
 *   });
 *
 * The shared cluster is the same for all files of a run: use namespaces of your own. There is a second one of a run for tests that kill, wipe or restart it, or
 * give its API server other flags (restartableCluster); only a fresh one is without what earlier tests have written.
 */

const root = path.resolve(import.meta.dirname, "../../..");

export interface ClusterOptions {
  /** Installs deploy/crds; true by default. */
  readonly crds?: boolean;
  /** Also runs kube-controller-manager: garbage collection, namespace deletion, default ServiceAccounts. */
  readonly controllerManager?: boolean;
  /** Further controllers of it, by the names that it gives them: `deployment-controller`. */
  readonly controllers?: readonly string[];
  /** Lets Pods run, on nodes that the caller starts: every controller, Services, ServiceAccounts in Pods. */
  readonly forNodes?: NodeNetwork;
  /** Further flags of kube-apiserver; of a flag given twice the last counts. */
  readonly apiServerFlags?: readonly string[];
}

export interface NodeNetwork {
  /** The address at which Pods reach the API server. */
  readonly address: string;
  readonly port: number;
  /** The range of Services. */
  readonly services: string;
}

export type Component = "etcd" | "kube-apiserver" | "kube-controller-manager";

export class Cluster {
  /** Clusters that were started and not stopped. */
  static readonly running = new Set<Cluster>();

  readonly host: string;
  /** Port of the API server: HTTPS, the same after restarts. */
  readonly port: number;
  readonly etcdUrl: string;
  /** The API server, as the administrator. */
  readonly api: ApiClient;
  /** Holds all files of this cluster; removed when it stops. */
  readonly directory: string;
  readonly #options: ClusterOptions;
  readonly #etcdPeerPort: number;
  readonly #adminToken = randomBytes(16).toString("hex");
  readonly #processes: Record<Component, ClusterProcess>;
  #apiServerFlags: readonly string[];
  #audit: AuditLog;
  /** Counts starts of the API server, namespaces and accounts, for unique names. */
  #next = 0;

  private constructor(options: ClusterOptions, ports: readonly [number, number, number]) {
    const binaries = process.env["BUNTING_CLUSTER_BIN"];
    if (binaries === undefined) {
      throw new Error(
        "BUNTING_CLUSTER_BIN does not say where kube-apiserver is: run `npm run test:cluster -- FILE`, which builds it and says so",
      );
    }
    this.#options = options;
    // Its certificate names the address that Pods reach it at, and no other.
    this.host = options.forNodes?.address ?? "127.0.0.1";
    this.#apiServerFlags = options.apiServerFlags ?? [];
    this.directory = mkdtempSync(path.join(tmpdir(), "bunting-cluster-"));
    reaper.directory(this.directory);
    this.port = ports[0];
    this.etcdUrl = `http://127.0.0.1:${ports[1]}`;
    this.#etcdPeerPort = ports[2];
    this.#audit = new AuditLog(this.#file("audit-0.log"));
    this.api = new ApiClient(this, this.#adminToken, () => this.certificateAuthority);
    const component = (name: Component, binary: string = name): ClusterProcess =>
      new ClusterProcess(path.join(binaries, binary), name, this.directory);
    this.#processes = {
      etcd: component("etcd", "server"),
      "kube-apiserver": component("kube-apiserver"),
      "kube-controller-manager": component("kube-controller-manager"),
    };
  }

  /** Starts a cluster, and waits until it is ready and, unless told otherwise, serves our resource types. The caller must stop it. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const port = options.forNodes?.port ?? (await freePort());
    const cluster = new Cluster(options, [port, await freePort(), await freePort()]);
    Cluster.running.add(cluster);
    try {
      cluster.#writeFiles();
      await cluster.#startAll();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Kills all of it and removes its directory. */
  async stop(): Promise<void> {
    Cluster.running.delete(this);
    this.api.forgetConnections();
    await Promise.all(Object.values(this.#processes).map((component) => component.kill()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  // What clients need

  get url(): string {
    return `https://${this.host}:${this.port}`;
  }

  /** PEM; trusts the API server's certificate. */
  get certificateAuthority(): Buffer {
    return readFileSync(this.#file("certificates/apiserver.crt"));
  }

  /** The API server's own certificate and key, for test proxies that terminate TLS in its place. */
  get servingCertificate(): { readonly cert: Buffer; readonly key: Buffer } {
    return { cert: this.certificateAuthority, key: readFileSync(this.#file("certificates/apiserver.key")) };
  }

  /** A kubeconfig file of the administrator. */
  get kubeconfig(): string {
    return this.#file("admin.kubeconfig");
  }

  /**
   * A ServiceAccount with a token, in a directory like that in a pod. It is created if need be, and has no permissions yet; the namespace must exist.
   */
  async createServiceAccountToken(
    namespace: string,
    name: string,
    { seconds = 3600 }: { readonly seconds?: number } = {},
  ): Promise<ServiceAccount> {
    const account = new ServiceAccount({
      api: this.api,
      namespace,
      name,
      directory: this.#file(`accounts/${this.#next++}-${name}`),
      certificateAuthority: this.certificateAuthority,
      port: this.port,
    });
    await account.create();
    await account.rotate(seconds);
    return account;
  }

  /** Binds the ClusterRole that the open-feature-operator binds for its flagd-proxy. `deleteStockRole` revokes it. */
  async grantStockRole(account: Pick<ServiceAccount, "namespace" | "name">): Promise<void> {
    const name = "open-feature-operator-flagd-kubernetes-sync";
    await this.api.apply(`${rbac}/clusterroles/${name}`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [
        {
          apiGroups: ["core.openfeature.dev"],
          resources: ["featureflagsources", "featureflags"],
          verbs: ["get", "watch", "list"],
        },
      ],
    });
    const binding = bindingOf(account);
    await this.api.apply(`${rbac}/clusterrolebindings/${binding}`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: binding },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
    });
    await this.untilAllowed(account, { resource: "featureflags", verb: "watch" });
  }

  /** Waits until roles that were just granted count: the API server reads them by watches of its own, and answers 403 until those have delivered. */
  async untilAllowed(
    { namespace, name }: Pick<ServiceAccount, "namespace" | "name">,
    attributes: {
      readonly resource: string;
      readonly verb: string;
      readonly namespace?: string;
      readonly name?: string;
    },
  ): Promise<void> {
    const isAllowed = async (): Promise<boolean> => {
      const review = await this.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        spec: {
          user: `system:serviceaccount:${namespace}:${name}`,
          groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
          resourceAttributes: { group: "core.openfeature.dev", ...attributes },
        },
      });
      return (review["status"] as { allowed: boolean }).allowed;
    };
    await eventually(isAllowed, `${name} may ${attributes.verb} ${attributes.resource}`);
  }

  async deleteStockRole(account: ServiceAccount): Promise<void> {
    await this.api.delete(`${rbac}/clusterrolebindings/${bindingOf(account)}`);
  }

  // Objects

  /** @param name absent: a name that no other test uses. */
  async createNamespace(name = `test-${this.#next++}-${randomBytes(3).toString("hex")}`): Promise<string> {
    await this.api.create("/api/v1/namespaces", { metadata: { name } });
    return name;
  }

  /** Creates or updates the FeatureFlag with this flagSpec; undefined: without one. */
  putFeatureFlag(
    namespace: string,
    name: string,
    flagSpec: unknown,
    metadata: Readonly<Record<string, unknown>> = {},
  ): Promise<ApiObject> {
    return this.api.apply(featureFlagPath(namespace, name), {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlag",
      metadata: { ...metadata, name, namespace },
      spec: flagSpec === undefined ? {} : { flagSpec },
    });
  }

  async deleteFeatureFlag(namespace: string, name: string): Promise<void> {
    await this.api.delete(featureFlagPath(namespace, name));
  }

  /** The objects that exist now, by a consistent read. */
  listFeatureFlags(namespace?: string): Promise<ApiList> {
    return this.api.list(featureFlagPath(namespace));
  }

  /** Creates the resource types (again), and waits until they are served. */
  async installCrds(): Promise<void> {
    await this.kubectl(["apply", "--server-side", "-k", path.join(root, "deploy/crds")]);
    await this.untilServed();
  }

  /** Waits until our resource types are served: just after a start of the API server they are answered 429. */
  async untilServed(): Promise<void> {
    await this.#eventually("the resource types are served", async () => {
      const plurals = ["featureflags", "featureflagsources", "flagds", "inprocessconfigurations"];
      const lists = plurals.map((plural) => this.api.request("GET", `${group}/${plural}`));
      // kubectl discovers them here, which lags behind.
      const discovery = this.api.request("GET", "/apis", {
        accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
      });
      const answers = await Promise.all(lists);
      const { text } = await discovery;
      return (
        answers.every(({ status }) => status === 200) &&
        plurals.every((plural) => text.includes(`"${plural}"`))
      );
    });
  }

  /** Deletes a resource type with all its objects; resolves when the API server no longer knows the type. */
  async deleteCrd(plural = "featureflags"): Promise<void> {
    await this.api.delete(
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.core.openfeature.dev`,
    );
    await this.#eventually(`${plural} are gone`, async () => {
      const { status } = await this.api.request("GET", `${group}/${plural}`);
      return status === 404;
    });
  }

  /** Runs kubectl as the administrator; resolves with its stdout, rejects with its stderr. */
  async kubectl(args: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.tryKubectl(args, stdin);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** Runs kubectl; resolves however it ends. */
  async tryKubectl(
    args: readonly string[],
    stdin?: string,
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const binary = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
    const child = spawn(binary, [`--kubeconfig=${this.kubeconfig}`, ...args], {
      env: { HOME: this.directory, PATH: process.env["PATH"] },
      stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(stdin);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
  }

  // Observing it

  /** Watches of this user (or account) that were answered and have not ended, by the audit log since the API server's last start. */
  openWatches(of: { readonly user: string }): AuditedRequest[] {
    return this.#audit.openWatches(of.user);
  }

  /** This user's requests for flags (get, list, watch) and for its own permissions, since the API server's last start. */
  requests(of: { readonly user: string }): AuditedRequest[] {
    return this.#audit.requests(of.user);
  }

  /** Resident memory of a component now. */
  rssBytes(component: Component = "kube-apiserver"): number {
    return this.#processes[component].rssBytes;
  }

  pidOf(component: Component): number {
    return this.#processes[component].pid;
  }

  // Doing things to it: never to the shared one

  /** SIGKILL. `startApiServer` and `startEtcd` start it again. */
  async kill(component: Component): Promise<void> {
    await this.#processes[component].kill();
    if (component === "kube-apiserver") this.api.forgetConnections();
  }

  /** SIGSTOP: connections stay open, without answers. Resolves when it has stopped. */
  suspend(component: Component): Promise<void> {
    return this.#processes[component].suspend();
  }

  resume(component: Component): void {
    this.#processes[component].resume();
  }

  async startEtcd(): Promise<void> {
    const client = this.etcdUrl;
    const peer = `http://127.0.0.1:${this.#etcdPeerPort}`;
    const etcd = this.#processes.etcd;
    etcd.start([
      `--data-dir=${this.#etcdData}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ]);
    await this.#eventually(
      "etcd is healthy",
      async () => (await fetch(`${client}/health`)).status === 200,
      etcd,
    );
  }

  /** All that the API server has written to stdout and stderr, since its first start. */
  get apiServerLog(): string {
    return readFileSync(this.#processes["kube-apiserver"].logFile, "utf8");
  }

  /** @param flags further flags, in place of those it had. Resolves when /readyz answers 200; custom resources may be answered 429 after that, see `untilServed`. */
  async startApiServer(flags: readonly string[] = this.#apiServerFlags): Promise<void> {
    const apiServer = this.#processes["kube-apiserver"];
    this.#apiServerFlags = flags;
    const auditFile = this.#file(`audit-${this.#next++}.log`);
    this.#audit = new AuditLog(auditFile);
    apiServer.start([
      `--etcd-servers=${this.etcdUrl}`,
      `--bind-address=${this.host}`,
      `--advertise-address=${this.host}`,
      `--secure-port=${this.port}`,
      `--cert-dir=${this.#file("certificates")}`,
      "--authorization-mode=RBAC",
      `--token-auth-file=${this.#file("tokens.csv")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-signing-key-file=${this.#file("accounts.key")}`,
      `--service-account-key-file=${this.#file("accounts.pub")}`,
      "--api-audiences=https://kubernetes.default.svc",
      ...(this.#options.forNodes === undefined ? withoutNodes : withNodes(this.#options.forNodes)),
      `--audit-policy-file=${this.#file("audit-policy.json")}`,
      `--audit-log-path=${auditFile}`,
      ...emulatedVersion(),
      ...flags,
    ]);
    // By the status: the body of a failing /readyz says "ok" too, of the checks that passed.
    const isReady = async (): Promise<boolean> => (await this.api.request("GET", "/readyz")).status === 200;
    await this.#eventually("the API server is ready", isReady, apiServer);
  }

  /** SIGKILL and a start on the same port. Resolves as `startApiServer` does. */
  async restartApiServer(flags: readonly string[] = this.#apiServerFlags): Promise<void> {
    await this.kill("kube-apiserver");
    await this.startApiServer(flags);
  }

  /** Runs with these flags after tests that may have killed it or given it others; restarts the API server only if it must. */
  async settle(flags: readonly string[]): Promise<void> {
    const isAsBefore = JSON.stringify(flags) === JSON.stringify(this.#apiServerFlags);
    if (!this.#processes.etcd.isRunning) await this.startEtcd();
    if (!isAsBefore || !this.#processes["kube-apiserver"].isRunning) await this.restartApiServer(flags);
    await this.untilServed();
  }

  /** Wipes etcd: resourceVersions start from the beginning and the API server is restarted; the resource types are installed again if they were. */
  async wipeEtcd(): Promise<void> {
    await this.#replaceEtcdData(() => undefined);
    if (this.#options.crds ?? true) await this.installCrds();
  }

  /** A copy of all data as it is now, for `restoreEtcd`. */
  async saveEtcd(): Promise<string> {
    const copy = this.#file(`etcd-copy-${this.#next++}`);
    // While it is stopped, its files are those of a crash at this moment, from which its write-ahead log recovers.
    await this.suspend("etcd");
    cpSync(this.#etcdData, copy, { recursive: true });
    this.resume("etcd");
    return copy;
  }

  /**
   * Goes back to a copy, as from a backup, and restarts the API server: what was written since is gone, and resourceVersions go backwards.
   * The start of an API server writes some dozen objects of its own, so make sure that more than that was written in between.
   */
  async restoreEtcd(copy: string): Promise<void> {
    await this.#replaceEtcdData(() => cpSync(copy, this.#etcdData, { recursive: true }));
  }

  /**
   * Drops all history from etcd, up to now. Watches notice only without the watch cache, or after a restart of the API server; and a
   * watch that is resumed right before the last write is answered 500 in the stream ("PrevKv=nil"), earlier ones 410.
   */
  async compact(): Promise<void> {
    const range = await this.#callEtcd("range", {
      key: Buffer.from("x").toString("base64"),
      count_only: true,
    });
    const { revision } = (range as { header: { revision: string } }).header;
    await this.#callEtcd("compaction", { revision, physical: true });
  }

  async #callEtcd(method: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${this.etcdUrl}/v3/kv/${method}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`etcd answered ${method} with ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  async #replaceEtcdData(put: () => void): Promise<void> {
    await this.kill("kube-apiserver");
    await this.kill("etcd");
    rmSync(this.#etcdData, { recursive: true, force: true });
    put();
    await this.startEtcd();
    await this.startApiServer();
  }

  async #startAll(): Promise<void> {
    await this.startEtcd();
    await this.startApiServer();
    this.#writeKubeconfig();
    if (this.#options.controllerManager ?? false) this.#startControllerManager();
    if (this.#options.crds ?? true) await this.installCrds();
  }

  #startControllerManager(): void {
    this.#processes["kube-controller-manager"].start([
      `--kubeconfig=${this.kubeconfig}`,
      "--leader-elect=false",
      "--secure-port=0",
      `--service-account-private-key-file=${this.#file("accounts.key")}`,
      `--root-ca-file=${this.#file("certificates/apiserver.crt")}`,
      ...(this.#options.forNodes === undefined
        ? [`--controllers=${[...controllersWithoutNodes, ...(this.#options.controllers ?? [])].join(",")}`]
        : []),
    ]);
  }

  #writeFiles(): void {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    writeFileSync(this.#file("accounts.key"), privateKey, { mode: 0o600 });
    writeFileSync(this.#file("accounts.pub"), publicKey);
    writeFileSync(this.#file("tokens.csv"), `${this.#adminToken},admin,admin,"system:masters"\n`, {
      mode: 0o600,
    });
    writeFileSync(this.#file("audit-policy.json"), JSON.stringify(auditPolicy));
  }

  #writeKubeconfig(): void {
    const certificate = this.certificateAuthority.toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: this.url, "certificate-authority-data": certificate } }],
      users: [{ name: "admin", user: { token: this.#adminToken } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
      "current-context": "test",
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config), { mode: 0o600 });
  }

  /** Errors count as "not yet". If `component` ends, or on a timeout, the error includes its log. */
  async #eventually(what: string, holds: () => Promise<boolean>, component?: ClusterProcess): Promise<void> {
    const limitMs = patient(60_000);
    const deadline = Date.now() + limitMs;
    let last: unknown;
    for (;;) {
      try {
        if (await holds()) return;
      } catch (error) {
        last = error;
      }
      if (component?.isRunning === false)
        throw new Error(`${component.name} has ended${component.describeLog()}`);
      if (Date.now() > deadline) {
        const described = component ?? this.#processes["kube-apiserver"];
        throw new Error(`not within ${limitMs} ms: ${what}${described.describeLog()}`, { cause: last });
      }
      await delay(25);
    }
  }

  get #etcdData(): string {
    return this.#file("etcd");
  }

  #file(name: string): string {
    return path.join(this.directory, name);
  }
}

const withoutNodes = [
  "--service-cluster-ip-range=10.0.0.0/24",
  "--endpoint-reconciler-type=none",
  "--disable-admission-plugins=ServiceAccount",
];
const controllersWithoutNodes = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
];

function withNodes({ services }: NodeNetwork): string[] {
  return [`--service-cluster-ip-range=${services}`, "--kubelet-preferred-address-types=InternalIP"];
}

const group = "/apis/core.openfeature.dev/v1beta1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The path of FeatureFlags for `cluster.api`: all, a namespace's, or one. */
export function featureFlagPath(namespace?: string, name?: string): string {
  const collection =
    namespace === undefined ? `${group}/featureflags` : `${group}/namespaces/${namespace}/featureflags`;
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
}

function bindingOf(account: Pick<ServiceAccount, "namespace" | "name">): string {
  return `stock-${account.namespace}-${account.name}`;
}

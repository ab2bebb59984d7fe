import { once, setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, request, type Server } from "node:https";
import { createServer as createSilentServer, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { connect } from "node:tls";
import {
  ClusterWatches,
  connectCluster,
  EventRecorder,
  type ConnectedCluster,
  type KubeObject,
} from "@bunting/kube";
import { AdmissionHandler, type Webhook } from "@bunting/operator/internal/admission/admission-handler.js";
import { admissionMetrics } from "@bunting/operator/internal/admission/admission-metrics.js";
import { reviewOf } from "@bunting/operator/internal/admission/admission-review.fixture.js";
import { AdmissionServer } from "@bunting/operator/internal/admission/admission-server.js";
import { podWebhook, type MissingSourcePolicy } from "@bunting/operator/internal/admission/mutate-pod.js";
import { featureFlagSourceWebhook } from "@bunting/operator/internal/admission/validate-feature-flag-source.js";
import { featureFlagWebhook } from "@bunting/operator/internal/admission/validate-feature-flag.js";
import type { InjectionEntry } from "@bunting/operator/internal/api/injection.js";
import { webhookConfigurationNames, webhookPaths } from "@bunting/operator/internal/api/webhooks.js";
import { createAuthority } from "@bunting/operator/internal/certificates/issue-certificate.js";
import { authoritySecret } from "@bunting/operator/internal/certificates/authority-secret.js";
import { callSource } from "@bunting/operator/internal/certificates/call-source.js";
import type { SecretContent, SecretObject } from "@bunting/operator/internal/certificates/secret-content.js";
import { SecretWatch } from "@bunting/operator/internal/certificates/secret-watch.js";
import { WebhookKeyKeeper } from "@bunting/operator/internal/certificates/webhook-key-keeper.js";
import { webhookKeySecret } from "@bunting/operator/internal/certificates/webhook-key-secret.js";
import type { WebhookKey } from "@bunting/operator/internal/certificates/webhook-keys.js";
import { servingCertificates } from "@bunting/operator/internal/certificates/serving-certificates.js";
import { FeatureFlagStatus } from "@bunting/operator/internal/controllers/feature-flag-status.js";
import { WebhookConfigurations } from "@bunting/operator/internal/controllers/webhook-configurations.js";
import type { DesiredObject } from "@bunting/operator/internal/desired/desired-object.js";
import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { fullEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { createLogger, RateLimitedLog, systemClock, type Clock } from "@bunting/runtime";
import { Authority, type CertificatePair } from "../../support/certificates.js";
import { eventually } from "../../support/event-queue.js";
import { freePort } from "../../support/free-port.js";
import type { ApiResponse } from "./api-client.js";
import type { Cluster } from "./cluster.js";

const dayMs = 86_400_000;
const registration = "/apis/admissionregistration.k8s.io/v1";
const configurationPaths = [
  `${registration}/mutatingwebhookconfigurations/${webhookConfigurationNames.mutating}`,
  `${registration}/validatingwebhookconfigurations/${webhookConfigurationNames.validating}`,
];

const flagRules = {
  maxDocumentBytes: 1_000_000,
  levelOfNamespace: () => undefined,
  listenToLevels: () => () => undefined,
};

interface ClientConfig {
  readonly caBundle?: string;
  readonly url?: string;
}

/** The clock of this machine, which a test moves on. */
class ShiftedClock implements Clock {
  shiftMs = 0;

  now(): number {
    return Date.now() + this.shiftMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  after(delayMs: number, callback: () => void): () => void {
    return systemClock.after(delayMs, callback);
  }
}

export interface Review {
  readonly path: string;
  readonly containers: readonly string[];
}

export interface PodWishes {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly namespace?: string;
  /** False: it is stored. */
  readonly isDryRun?: boolean;
}

/** The admission of the operator, on a real API server that calls it over TLS: one replica, which leads. */
export class AdmissionWorld {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly ownNamespace: string;
  readonly port: number;
  readonly clock = new ShiftedClock();
  /** Of the webhooks, from the next time on that they are served. */
  missingSource: MissingSourcePolicy = "admit";
  /** What was compiled, by namespace and text. */
  readonly entries = new Map<string, InjectionEntry>();
  /** What the API server showed of Pods. */
  readonly reviews: Review[] = [];
  readonly #abort = new AbortController();
  readonly #running: Promise<unknown>[] = [];
  readonly #logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  readonly #metrics = { ...operatorMetrics(), ...admissionMetrics.create() };
  readonly #parts: ReturnType<typeof servingCertificates>;
  readonly #keys: SecretWatch<WebhookKey>;
  readonly #keyKeeper: WebhookKeyKeeper;
  #serving: { readonly abort: AbortController; readonly running: Promise<void> } | undefined;
  #mesh: Server | undefined;

  static async start(cluster: Cluster): Promise<AdmissionWorld> {
    const [namespace, own] = [await cluster.createNamespace(), await cluster.createNamespace()];
    for (const each of [namespace, own])
      await cluster.api.create(`/api/v1/namespaces/${each}/serviceaccounts`, { metadata: { name: "web" } });
    const choice = { kubeconfig: cluster.kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    const program = "bunting-test/0.0.0";
    const connected = await connectCluster(choice, { program, clock: systemClock, env: {} });
    const world = new AdmissionWorld(cluster, connected, namespace, own, await freePort());
    await world.#start();
    return world;
  }

  private constructor(
    cluster: Cluster,
    connected: ConnectedCluster,
    namespace: string,
    ownNamespace: string,
    port: number,
  ) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.ownNamespace = ownNamespace;
    this.port = port;
    this.entries.set(`${namespace} end-to-end`, fullEntry);
    const context = { clock: this.clock, logger: this.#logger, metrics: this.#metrics };
    const silent = { relist: () => undefined, event: () => undefined, error: () => undefined };
    const { client } = connected;
    const watches = new ClusterWatches({
      client,
      context: { ...context, clock: systemClock, metrics: silent },
    });
    // As many parts as there are listen to it.
    setMaxListeners(0, this.#abort.signal);
    this.#parts = servingCertificates(
      { kind: "own", dnsNames: ["localhost"] },
      { client, watches, namespace: ownNamespace, context },
    );
    const { bundle, keeper, runnables } = this.#parts;
    if (bundle === undefined || keeper === undefined) throw new Error("there is an authority of our own");
    this.#keys = new SecretWatch(webhookKeySecret, { watches, namespace: ownNamespace, context });
    this.#keyKeeper = new WebhookKeyKeeper({ client, namespace: ownNamespace, context });
    this.#keys.onChange(() => this.#keyKeeper.look());
    this.#keyKeeper.otherAnswers("gone");
    const configurations = new WebhookConfigurations({
      client,
      watches,
      source: callSource(bundle, this.#keys),
      address: { url: this.#url },
      onApplied: ({ bundle: pem = "", key }) => {
        keeper.bundleApplied(pem);
        this.#keyKeeper.keyApplied(key);
      },
      context,
    });
    const events = new EventRecorder({
      client,
      controller: "bunting.dev/operator",
      instance: "operator-1",
      context,
    });
    const status = new FeatureFlagStatus({ client, watches, events, namespace, rules: flagRules, context });
    const alone = configurations.alone();
    const webhooks = [this.#keys, ...runnables, keeper, this.#keyKeeper, configurations, alone];
    for (const each of [connected.connections, events, ...webhooks, status])
      this.#running.push(each.run(this.#abort.signal));
  }

  get #url(): string {
    return `https://localhost:${this.port}`;
  }

  async #start(): Promise<void> {
    await this.serve();
    for (const [index, object] of this.#configurations.entries())
      await this.cluster.api.apply(configurationPaths[index] ?? "", object);
    await this.untilCalled();
  }

  get #configurations(): readonly DesiredObject[] {
    const address = { url: this.#url };
    return webhookConfigurations({ namespace: this.ownNamespace, address, validatesFlags: true });
  }

  /** As whoever installs the operator does: applies the first webhooks for Pods, without the others; answers how many there are then. */
  async installWebhooks(count = Infinity): Promise<number> {
    const [{ webhooks = [], ...rest } = {}] = this.#configurations as readonly {
      readonly webhooks?: readonly object[];
    }[];
    const body = { ...rest, webhooks: webhooks.slice(0, count) };
    const applied = await this.cluster.api.apply(configurationPaths[0] ?? "", body);
    return (applied["webhooks"] as readonly object[]).length;
  }

  /** Waits until the API server knows the webhooks, and can verify them. */
  async untilCalled(): Promise<void> {
    const isInjected = async (): Promise<boolean> =>
      (await this.createPod({})).text.includes("bunting.dev/injected");
    await eventually(isInjected, "a Pod is injected");
    const isChecked = async (): Promise<boolean> =>
      (await this.writeFlag("probe", { defaultVariant: "unknown" }, "?dryRun=All")).text.includes(
        "vfeatureflag",
      );
    await eventually(isChecked, "a FeatureFlag is checked");
  }

  /** What the API server has logged of calls of webhooks that failed, and without which it went on. */
  failedCalls(): readonly string[] {
    return this.cluster.apiServerLog.split("\n").filter((line) => line.includes("failing open"));
  }

  /**
   * Listens at the port that the configurations name.
   *
   * @param pair another certificate than that which API servers are told of
   */
  async serve(pair?: CertificatePair): Promise<void> {
    const context = { clock: this.clock, logger: this.#logger, metrics: this.#metrics };
    const server = new AdmissionServer({
      endpoint: { host: "127.0.0.1", port: this.port },
      certificate:
        pair === undefined
          ? this.#parts.source
          : {
              onPair: (listener) =>
                listener({ cert: Buffer.from(pair.cert), key: Buffer.from(pair.key), validToMs: Infinity }),
            },
      handler: new AdmissionHandler({
        webhooks: this.#webhooks(),
        keys: () => this.#keys.lastItems.map(({ key }) => key),
        context,
        log: new RateLimitedLog(this.#logger, this.clock),
      }),
      context,
      lingerMs: 0,
    });
    await server.listen();
    const abort = new AbortController();
    this.#serving = { abort, running: server.run(abort.signal) };
  }

  /** Accepts connections at that port, and says nothing on them, until the returned function is called. */
  async hang(): Promise<() => Promise<void>> {
    const sockets = new Set<Socket>();
    const server = createSilentServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
    });
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    return async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    };
  }

  /** Handshakes of TLS so far that the API server has ended, for instance because it does not accept the certificate. */
  get refusedHandshakes(): number {
    return this.#metrics.tls.handshake.read("protocol");
  }

  /** Nobody listens any more. */
  async stopServing(): Promise<void> {
    this.#serving?.abort.abort();
    await this.#serving?.running;
    this.#serving = undefined;
  }

  #webhooks(): ReadonlyMap<string, Webhook> {
    const pods = (path: string, isRequired: boolean): [string, Webhook] => {
      const webhook = podWebhook({
        lookup: (namespace, { text }) =>
          this.entries.get(`${namespace} ${text}`) ?? {
            reason: "UnknownSource",
            message: `there is no FeatureFlagSource ${text}`,
          },
        isRequired,
        missingSource: this.missingSource,
        metrics: this.#metrics,
      });
      const review: Webhook["review"] = (request, startedMs) => {
        const { spec } = request.object as {
          readonly spec: { readonly containers: readonly { name: string }[] };
        };
        this.reviews.push({ path, containers: spec.containers.map(({ name }) => name) });
        return webhook.review(request, startedMs);
      };
      return [path, { ...webhook, review }];
    };
    return new Map([
      pods(webhookPaths.pod, false),
      pods(webhookPaths.requiredPod, true),
      [webhookPaths.featureFlag, featureFlagWebhook({ ...flagRules, clock: this.clock })],
      [webhookPaths.featureFlagSource, featureFlagSourceWebhook({})],
    ]);
  }

  createPod({
    annotations = {},
    spec = {},
    namespace = this.namespace,
    isDryRun = true,
  }: PodWishes): Promise<ApiResponse> {
    return this.cluster.api.request(
      "POST",
      `/api/v1/namespaces/${namespace}/pods${isDryRun ? "?dryRun=All" : ""}`,
      {
        body: {
          metadata: {
            generateName: "web-",
            annotations: {
              "openfeature.dev/enabled": "true",
              "openfeature.dev/featureflagsource": "end-to-end",
              ...annotations,
            },
          },
          spec: {
            serviceAccountName: "web",
            automountServiceAccountToken: false,
            containers: [{ name: "app", image: "app" }],
            ...spec,
          },
        },
      },
    );
  }

  /** Writes a FeatureFlag with one flag. */
  writeFlag(name: string, flag: object, query = ""): Promise<ApiResponse> {
    const collection = `/apis/core.openfeature.dev/v1beta1/namespaces/${this.namespace}/featureflags`;
    const defaults = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
    return this.cluster.api.request(
      "PATCH",
      `${collection}/${name}${query === "" ? "?" : `${query}&`}fieldManager=test&force=true`,
      {
        contentType: "application/apply-patch+yaml",
        body: {
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlag",
          metadata: { name, namespace: this.namespace },
          spec: { flagSpec: { flags: { a: { ...defaults, ...flag } } } },
        },
      },
    );
  }

  /** Replaces the Secret by one whose authority is to be renewed. */
  async ageAuthority(): Promise<void> {
    const nowMs = Date.now();
    const validity = { fromMs: nowMs - 300 * dayMs, toMs: nowMs + 65 * dayMs };
    const old = {
      ...createAuthority(validity),
      validFromMs: validity.fromMs,
      validToMs: validity.toMs,
      trustedMs: validity.fromMs,
    };
    await this.cluster.api.patch(this.#pathOf(authoritySecret), { data: authoritySecret.dataOf([old]) });
  }

  /** The authorities that the API server verifies our webhooks by, the URL of the one for Pods, and who wrote the configuration. */
  async configuration(): Promise<{
    readonly object: KubeObject;
    readonly bundle: string;
    readonly url: string;
  }> {
    const object = (await this.cluster.api.get(configurationPaths[0] ?? "")) as unknown as KubeObject & {
      readonly webhooks: readonly { readonly clientConfig: ClientConfig }[];
    };
    const { caBundle = "", url = "" } = object.webhooks[0]?.clientConfig ?? {};
    return { object, bundle: Buffer.from(caBundle, "base64").toString(), url };
  }

  /** As a person with an editor, or another injector. */
  async overwriteBundle(): Promise<void> {
    const { cert } = await Authority.create();
    const path = configurationPaths[0] ?? "";
    const response = await this.cluster.api.request("PATCH", `${path}?fieldManager=editor`, {
      contentType: "application/json-patch+json",
      body: [
        {
          op: "replace",
          path: "/webhooks/0/clientConfig/caBundle",
          value: Buffer.from(cert).toString("base64"),
        },
      ],
    });
    if (response.status !== 200) throw new Error(response.text);
  }

  /** Who issued the certificate that a new connection gets. */
  async servedAuthority(): Promise<string> {
    const { bundle } = await this.configuration();
    const socket = connect({ host: "127.0.0.1", port: this.port, servername: "localhost", ca: bundle });
    await once(socket, "secureConnect");
    const issuer = socket.getPeerX509Certificate()?.issuer ?? "";
    socket.destroy();
    return issuer;
  }

  /** Has the leader look at its authorities and keys: the clock was moved. */
  keep(): void {
    this.#parts.keeper?.look();
    this.#keyKeeper.look();
  }

  /** Replaces the key of the webhooks' paths, as who fears that it is known does. */
  async deleteKeys(): Promise<void> {
    await this.cluster.api.delete(this.#pathOf(webhookKeySecret));
  }

  /** What a Secret of the operator's holds: a fence for tests that move the clock, by which it notes when each step was done. */
  async stored<Item>(content: SecretContent<Item>): Promise<readonly Item[]> {
    const { status, text } = await this.cluster.api.request("GET", this.#pathOf(content));
    return status === 404 ? [] : content.read(JSON.parse(text) as SecretObject);
  }

  #pathOf({ name }: Pick<SecretContent<unknown>, "name">): string {
    return `/api/v1/namespaces/${this.ownNamespace}/secrets/${name}`;
  }

  /** Sends a review of a Pod as somebody who reaches the port. */
  async post(url: string): Promise<{ readonly status: number; readonly text: string }> {
    const { bundle } = await this.configuration();
    const sent = request(url, { method: "POST", ca: bundle, agent: false });
    sent.end(
      reviewOf({
        namespace: this.namespace,
        operation: "CREATE",
        object: {
          metadata: {
            annotations: {
              "openfeature.dev/enabled": "true",
              "openfeature.dev/featureflagsource": "end-to-end",
            },
          },
          spec: { containers: [{ name: "app" }] },
        },
      }),
    );
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await readText(response) };
  }

  /** Another mutating webhook, called after ours, which gives each Pod a container. */
  async addMesh(): Promise<void> {
    const authority = await Authority.create();
    const { cert, key } = await authority.issue();
    const server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { uid, object } = (
          JSON.parse(Buffer.concat(chunks).toString()) as {
            request: { uid: string; object: { spec: { containers: { name: string }[] } } };
          }
        ).request;
        const hasMesh = object.spec.containers.some(({ name }) => name === "mesh");
        const patch = [{ op: "add", path: "/spec/containers/-", value: { name: "mesh", image: "mesh" } }];
        response.end(
          JSON.stringify({
            apiVersion: "admission.k8s.io/v1",
            kind: "AdmissionReview",
            response: {
              uid,
              allowed: true,
              ...(hasMesh
                ? {}
                : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
            },
          }),
        );
      });
    });
    this.#mesh = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await this.cluster.api.apply(meshPath, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "zz-mesh" },
      webhooks: [
        {
          name: "mesh.example.com",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": this.namespace } },
          clientConfig: {
            url: `https://localhost:${port}/`,
            caBundle: Buffer.from(authority.cert).toString("base64"),
          },
        },
      ],
    });
  }

  async removeMesh(): Promise<void> {
    await this.cluster.api.delete(meshPath);
    this.#mesh?.closeAllConnections();
    this.#mesh?.close();
  }

  async stop(): Promise<void> {
    for (const each of configurationPaths) await this.cluster.api.delete(each);
    await this.stopServing();
    this.#abort.abort();
    await Promise.all(this.#running);
  }
}

const meshPath = `${registration}/mutatingwebhookconfigurations/zz-mesh`;

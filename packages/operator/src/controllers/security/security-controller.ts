import { type EventRecorder, type KubeObject, type RestClient, unlessNotFound } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { configMapType } from "../../api/core-types.js";
import {
  nextSecurityState,
  securityAccess,
  securityWait,
  podSettleMs,
  type ProxyAccess,
  type SecurityTarget,
  type SecurityView,
} from "../../desired/proxy-security/security-state.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { recordProxyEvent } from "../proxy/proxy-cluster.js";
import { lookAtInjections, lookAtPods, type PodSight } from "./look-at-pods.js";
import { lookAtProxies, type ProxySight } from "./look-at-proxies.js";
import { waitSentence } from "./wait-sentence.js";
import {
  readSecurity,
  securityConfigMap,
  securityConfigMapName,
  type StoredSecurity,
} from "./stored-security.js";

export interface SecurityControllerOptions {
  readonly cluster: {
    readonly client: Pick<RestClient, "get" | "list" | "readPage" | "create" | "patch">;
    readonly events: Pick<EventRecorder, "record">;
    /** The namespaces that the operator serves; undefined: all. */
    readonly served?: readonly string[] | undefined;
  };
  /** The operator's namespace. */
  readonly namespace: string;
  readonly wanted: {
    readonly target: SecurityTarget;
    /** Namespaces whose Pods are not waited for. */
    readonly except: ReadonlySet<string>;
  };
  /** Namespaces that lack the authority of the proxy; undefined while it is not known, or there is none, or no certificate of it. */
  readonly lacking: () => readonly string[] | undefined;
  /** Called when the leader knows, or when it has changed, whom the proxy is to serve. */
  readonly onAccess: () => void;
  readonly context: Context<ControllerMetrics>;
}

/** There is one proxy, so there is one key. */
const key = "security";
/** Interval of looks at replicas of the proxy, and at what is made for it. */
const lookMs = 2_000;
/** Interval of looks at all Pods, and how much longer than a look it is: large clusters are looked at less often. */
const [lookAtPodsMs, looksShare] = [30_000, 20];

/** What was read of the state: it is written only over what was read. */
interface Read extends StoredSecurity {
  readonly resourceVersion: string | undefined;
}

/** What was seen in one look. */
interface Sight {
  readonly view: SecurityView;
  readonly proxies: ProxySight;
  readonly pods: PodSight | undefined;
}

/** Takes the proxy's security to what is wanted, one state at a time, and says what it waits for. Only the leader may run it. */
export class SecurityController implements Runnable {
  readonly name = "proxy security controller";
  readonly #options: SecurityControllerOptions;
  readonly #controller: Controller;
  #access: ProxyAccess | undefined;
  /** Since when all Injections have been seen as the state has them. */
  #injected: { readonly state: string; readonly sinceMs: number } | undefined;
  #podsMs = lookAtPodsMs;

  constructor(options: SecurityControllerOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "proxy-security",
      reconcile: (_key, signal) => this.#reconcile(signal),
      context: options.context,
    });
  }

  /** Whom the proxy is to serve; undefined until this leader has read it. */
  get access(): ProxyAccess | undefined {
    return this.#access;
  }

  /** Something has happened that it may wait for. */
  changed(): void {
    this.#controller.add(key);
  }

  async run(signal: AbortSignal): Promise<void> {
    // Another leader may have gone on meanwhile.
    this.#access = undefined;
    this.#injected = undefined;
    this.changed();
    await this.#controller.run(signal);
  }

  async #reconcile(signal: AbortSignal): Promise<WorkResult | undefined> {
    const { wanted, context } = this.#options;
    const { target } = wanted;
    const read = await this.#read(signal);
    if (read.state === "off" && target === "off") {
      this.#enter("plain");
      return undefined;
    }
    if (this.#enter(securityAccess[read.state].proxy)) {
      // A Deployment that is being made by what held before must be seen.
      return { requeueAfterMs: lookMs };
    }
    const sight = await this.#look(read, signal);
    const state = nextSecurityState(read, target, sight.view);
    if (state !== read.state) {
      await this.#write(read, { state, sinceMs: context.clock.now(), waitsFor: "" }, signal);
      context.logger.info({ from: read.state, to: state, target }, "the security of the proxy has changed");
      this.#record(
        sight.proxies.deployment,
        "SecurityChanged",
        `The security of the proxy is now: ${state}.`,
      );
      this.#injected = undefined;
      return { requeueAfterMs: 0 };
    }
    const wait = securityWait(read, target, sight.view);
    const waitsFor = waitSentence(wait, { ...sight, lacking: this.#options.lacking() });
    if (waitsFor !== read.waitsFor) {
      await this.#write(read, { ...read, waitsFor }, signal);
      if (waitsFor !== "") this.#record(sight.proxies.deployment, "SecurityWaits", waitsFor);
    }
    switch (wait) {
      case "nothing":
        return undefined;
      case "plainPods":
      case "securedPods":
        return { requeueAfterMs: this.#podsMs };
      default:
        return { requeueAfterMs: lookMs };
    }
  }

  /**
   * The state as it is stored. Without that, or with what others have written there, the proxy's Deployment tells what Pods may rely on: it serves both
   * until all is looked at again.
   */
  async #read(signal: AbortSignal): Promise<Read> {
    const { namespace, context } = this.#options;
    const { client } = this.#options.cluster;
    const scope = { type: configMapType, namespace, name: securityConfigMapName };
    const object = await unlessNotFound(client.get(scope, signal));
    const stored = object === undefined ? undefined : readSecurity(object);
    const resourceVersion = object?.metadata.resourceVersion;
    if (stored !== undefined) return { ...stored, resourceVersion };
    const { deployed = "plain" } = await lookAtProxies(client, namespace, "plain", signal);
    const lost: Read = { state: "reopening", sinceMs: context.clock.now(), waitsFor: "", resourceVersion };
    if (deployed === "plain" && object === undefined) return { ...lost, state: "off" };
    await this.#write(lost, lost, signal);
    context.logger.warn({ configMap: securityConfigMapName }, "the state of the proxy's security was lost");
    return this.#read(signal);
  }

  async #look(read: Read, signal: AbortSignal): Promise<Sight> {
    const { namespace, context, lacking } = this.#options;
    const { client } = this.#options.cluster;
    const proxies = await lookAtProxies(client, namespace, securityAccess[read.state].proxy, signal);
    const pods = await this.#lookAtPods(read, signal);
    const view: SecurityView = {
      nowMs: context.clock.now(),
      otherProxies: proxies.isRolledOut ? proxies.others.length : undefined,
      hasAuthority: lacking()?.length === 0,
      plainPods: pods?.plain.count,
      securedPods: pods?.secured.count,
    };
    return { view, proxies, pods };
  }

  /** Undefined as long as Pods may be created that are not as the state has them: Injections first have to be, and then everybody has to hear of that. */
  async #lookAtPods(read: Read, signal: AbortSignal): Promise<PodSight | undefined> {
    const { wanted, cluster, context } = this.#options;
    const { target, except } = wanted;
    const looked = { ...cluster, except };
    const { state } = read;
    const isAsked = (state === "mixed" && target === "on") || (state === "leaving" && target === "off");
    if (!isAsked) return undefined;
    const { clock } = context;
    if (this.#injected?.state !== state) {
      const injections = await lookAtInjections(looked, signal);
      const former = state === "mixed" ? injections.plain : injections.secured;
      if (former.count > 0) return undefined;
      this.#injected = { state, sinceMs: clock.monotonicMs() };
    }
    if (clock.monotonicMs() < this.#injected.sinceMs + podSettleMs) return undefined;
    const beganMs = clock.monotonicMs();
    const pods = await lookAtPods(looked, signal);
    this.#podsMs = Math.max(lookAtPodsMs, (clock.monotonicMs() - beganMs) * looksShare);
    return pods;
  }

  async #write(
    { resourceVersion }: Pick<Read, "resourceVersion">,
    security: StoredSecurity,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace } = this.#options;
    const { client } = this.#options.cluster;
    const object = securityConfigMap(namespace, security, resourceVersion);
    const scope = { type: configMapType, namespace };
    if (resourceVersion === undefined) await client.create(scope, object, signal);
    else await client.patch({ ...scope, name: securityConfigMapName }, "merge", object, signal);
  }

  /** True if it has changed. */
  #enter(access: ProxyAccess): boolean {
    if (this.#access === access) return false;
    this.#access = access;
    this.#options.onAccess();
    return true;
  }

  #record(deployment: KubeObject | undefined, reason: string, note: string): void {
    if (deployment !== undefined)
      recordProxyEvent(this.#options.cluster.events, deployment, { type: "Normal", reason, note });
  }
}

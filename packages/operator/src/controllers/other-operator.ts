import { type KubeObject, type ResourceType, type RestClient, unlessNotFound } from "@bunting/kube";
import { isAborted, sleep, untilAny, type Context } from "@bunting/runtime";
import { otherLeaseName } from "../api/leases.js";
import { hasPod } from "./lease-holder.js";

/** The name of its Deployment, unless users rename it. */
const otherDeployment = "open-feature-operator-controller-manager";

const leaseType: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
const deploymentType: ResourceType = { group: "apps", version: "v1", plural: "deployments" };

/** Interval of looks while another operator runs. */
const lookMs = 5_000;
/** Interval of looks while none does. */
const lookAgainMs = 30_000;
/** A Lease renewed longer ago than this, by the wall clock, has no holder: no two clocks of a cluster differ by so much. */
const surelyOverMs = 600_000;

interface OtherLease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

interface OtherDeployment extends KubeObject {
  readonly status?: { readonly readyReplicas?: number };
}

export interface OtherOperatorOptions {
  readonly client: Pick<RestClient, "get">;
  /** Of this operator; other namespaces are not looked at. */
  readonly namespace: string;
  /** The uid of this operator's own Deployment, which may have the other's name; undefined if it has none. */
  readonly ownUid: (signal: AbortSignal) => Promise<string | undefined>;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Called with a sentence when another operator is seen, and with undefined when none is any more. */
  readonly onSeen: (what: string | undefined) => void;
}

/** Result of the last look; "unknown" before the first. */
type Sight = "unknown" | "alone" | { readonly other: string };

/**
 * Looks whether the open-feature-operator runs in our namespace: two operators would undo each other's writes. Its Lease is live as long
 * as it is renewed, and its Deployment as long as a Pod of it is ready.
 */
export class OtherOperator {
  readonly #options: OtherOperatorOptions;
  #sight: Sight = "unknown";
  #lease: { readonly resourceVersion: string | undefined; readonly sinceMs: number } | undefined;
  /** The holder of the Lease whose Pod was seen. */
  #seenHolder: string | undefined;

  constructor(options: OtherOperatorOptions) {
    this.#options = options;
  }

  /**
   * Does the work whenever no other operator runs, until the signal aborts.
   *
   * @param work must end soon after its signal aborts. If it ends by itself, it is begun again; if it rejects, so does this.
   */
  async workInAbsence(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    this.#forget();
    while (!isAborted(signal)) {
      await this.#look(signal);
      if (isAborted(signal)) return;
      if (this.#sight === "alone") await this.#workUntilSeen(work, signal);
      else await sleep(lookMs, signal, this.#options.context.clock);
    }
  }

  /** Whoever was told what was seen in an earlier term has forgotten it with the end of that. */
  #forget(): void {
    this.#sight = "unknown";
  }

  async #workUntilSeen(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    await untilAny([signal, stop.signal], async (either) => {
      const working = work(either).finally(() => stop.abort());
      // It is awaited below, and until then a rejection would end the process.
      working.catch(() => undefined);
      while (!isAborted(either) && this.#sight === "alone") {
        await sleep(lookAgainMs, either, this.#options.context.clock);
        if (!isAborted(either)) await this.#look(either);
      }
      stop.abort();
      await working;
    });
  }

  /** What can't be seen remains as it was. */
  async #look(signal: AbortSignal): Promise<void> {
    const { context, onSeen } = this.#options;
    try {
      const other = (await this.#liveLease(signal)) ?? (await this.#liveDeployment(signal));
      const before = typeof this.#sight === "object" ? this.#sight.other : undefined;
      this.#sight = other === undefined ? "alone" : { other };
      if (other !== before) onSeen(other);
    } catch (error) {
      if (!signal.aborted) context.logger.warn({ error }, "it can't be seen whether another operator runs");
    }
  }

  /** Times of other processes are never compared with ours, but for a Lease that nobody has renewed for long. */
  async #liveLease(signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options.context;
    const lease: OtherLease | undefined = await this.#get(leaseType, otherLeaseName, signal);
    const { holderIdentity = "", leaseDurationSeconds = 15, renewTime = "" } = lease?.spec ?? {};
    const resourceVersion = lease?.metadata.resourceVersion;
    const nowMs = clock.monotonicMs();
    if (this.#lease === undefined || this.#lease.resourceVersion !== resourceVersion)
      this.#lease = { resourceVersion, sinceMs: nowMs };
    const isOver =
      holderIdentity === "" ||
      nowMs - this.#lease.sinceMs >= leaseDurationSeconds * 1_000 ||
      clock.now() - Date.parse(renewTime) > surelyOverMs ||
      (await this.#hasEnded(holderIdentity, signal));
    return isOver ? undefined : `${holderIdentity} renews the Lease ${otherLeaseName}`;
  }

  /**
   * True if the holder's Pod was there and is no more: the open-feature-operator does not release its Lease. Its identity begins with the Pod's name, but
   * with that of the node for a Pod in the network of the node, and such a Pod is never seen.
   */
  async #hasEnded(holder: string, signal: AbortSignal): Promise<boolean> {
    const { client, namespace } = this.#options;
    const isThere = await hasPod(client, { namespace, identity: holder }, signal);
    if (isThere) this.#seenHolder = holder;
    return !isThere && this.#seenHolder === holder;
  }

  async #liveDeployment(signal: AbortSignal): Promise<string | undefined> {
    const deployment: OtherDeployment | undefined = await this.#get(deploymentType, otherDeployment, signal);
    if (deployment === undefined || (deployment.status?.readyReplicas ?? 0) === 0) return undefined;
    if (deployment.metadata.uid === (await this.#options.ownUid(signal))) return undefined;
    return `Pods of the Deployment ${otherDeployment} are ready`;
  }

  /** Undefined if there is none. */
  #get(type: ResourceType, name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { client, namespace } = this.#options;
    return unlessNotFound(client.get({ type, namespace, name }, signal));
  }
}

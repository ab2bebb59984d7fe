import {
  KubeError,
  type ClusterWatches,
  type ConsistentRead,
  type Epoch,
  type KubeObject,
  type ObjectEvent,
  type ReflectorHandler,
  type RunningWatch,
} from "@bunting/kube/pod";
import { featureFlagType } from "@bunting/protocol";
import { Backoff, sleep } from "@bunting/runtime";
import type { SyncSourceParts } from "../on-demand-source.js";
import type { KubernetesSourceConfig } from "../source-config.js";
import { FeatureFlagRecord } from "./feature-flag-record.js";
import type { RunWatch } from "./shared-cluster.js";

/** A watch that ends is opened again within moments: only a longer gap is reported. */
const reopenTimeoutMs = 5_000;
/** How long until the files of the ServiceAccount are looked for again. */
const configRetry = { firstMs: 1_000, capMs: 10_000 };

export { sharedCluster } from "./shared-cluster.js";

/** Follows one FeatureFlag until the signal aborts. With `sharedCluster`, this is the entry of a chunk. */
export async function followFeatureFlag(
  parts: SyncSourceParts<KubernetesSourceConfig>,
  runWatch: RunWatch,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(configRetry);
  while (!signal.aborted) {
    const watch = new FeatureFlagWatch(parts);
    try {
      await runWatch((watches) => watch.open(watches), signal);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      parts.state.failed(error.code.toLowerCase(), error.message);
      await sleep(backoff.next(), signal, parts.options.context.clock);
    } finally {
      watch.stop();
    }
  }
}

/** Hands what a reflector reports to the record, and outages to the source's state. */
class FeatureFlagWatch implements ReflectorHandler {
  readonly #parts: SyncSourceParts<KubernetesSourceConfig>;
  #record: FeatureFlagRecord | undefined;
  #isSynced = false;
  /** True if an outage must be reported: it has lasted, or there was no sync at all. */
  #isOverdue = true;
  #failure: KubeError | undefined;
  #cancelReopenTimeout: (() => void) | undefined;

  constructor(parts: SyncSourceParts<KubernetesSourceConfig>) {
    this.#parts = parts;
  }

  open(watches: ClusterWatches): RunningWatch {
    const { namespace, name } = this.#parts.config;
    const watch = watches.watch({ scope: { type: featureFlagType, namespace, name }, handler: this });
    const epochs = watches.epochsOf(featureFlagType);
    this.#record = new FeatureFlagRecord(this.#parts, epochs, () => watch.reflector.relist());
    return watch;
  }

  stop(): void {
    this.#cancelReopenTimeout?.();
    this.#record?.stop();
  }

  beginRead(): ConsistentRead {
    const startedMs = this.#parts.options.context.clock.monotonicMs();
    let found: { readonly object: KubeObject; readonly resourceVersion: string } | undefined;
    return {
      add: (object, resourceVersion) => (found = { object, resourceVersion }),
      remove: () => (found = undefined),
      complete: (resourceVersion, epoch) => {
        this.#synced();
        if (found === undefined) this.#record?.absent(resourceVersion, epoch, startedMs);
        else this.#record?.offer(found.object, found.resourceVersion, epoch, false);
      },
    };
  }

  event({ type, object, resourceVersion }: ObjectEvent, epoch: Epoch): void {
    if (type === "DELETED") this.#record?.gone(resourceVersion, epoch);
    else this.#record?.offer(object, resourceVersion, epoch, true);
  }

  resumed(): void {
    this.#synced();
  }

  interrupted(): void {
    this.#isSynced = false;
    this.#cancelReopenTimeout ??= this.#parts.options.context.clock.after(reopenTimeoutMs, () => {
      this.#cancelReopenTimeout = undefined;
      this.#isOverdue = true;
      if (!this.#isSynced) this.#report(this.#failure ?? new KubeError("TIMEOUT", waits));
    });
  }

  failed(error: KubeError): void {
    this.#failure = error;
    if (this.#isOverdue) this.#report(error);
  }

  #synced(): void {
    this.#isSynced = true;
    this.#isOverdue = false;
    this.#failure = undefined;
    this.#cancelReopenTimeout?.();
    this.#cancelReopenTimeout = undefined;
  }

  #report(error: KubeError): void {
    this.#parts.state.failed(error.code.toLowerCase(), `${error.message}${this.#remedyOf(error)}`);
  }

  #remedyOf({ code }: KubeError): string {
    const { namespace } = this.#parts.config;
    switch (code) {
      case "FORBIDDEN":
        return `; allow this user to get, list and watch featureflags in the namespace ${namespace}, or let bunting-proxy watch them and name it as provider grpc, which needs no permission`;
      case "NOT_FOUND":
        return "; install the CustomResourceDefinition featureflags.core.openfeature.dev";
      default:
        return "";
    }
  }
}

const waits = `the watch was not open again after ${reopenTimeoutMs / 1_000} s`;

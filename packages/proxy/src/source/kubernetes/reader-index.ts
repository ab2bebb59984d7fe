import type { ConsistentRead, KubeError, KubeObject, ObjectEvent, ReflectorHandler } from "@bunting/kube";
import {
  featureFlagType,
  parseReaders,
  readersOfMetadata,
  topicKey,
  type Readers,
  type TopicKey,
} from "@bunting/protocol";
import { RateLimitedLog, type Runnable } from "@bunting/runtime";
import type { WatchShared } from "./scope-watch.js";

/** Validity of the annotations' last state without a working watch. */
const keptMs = 24 * 3_600_000;
const linesPerMinute = 20;

/**
 * Whom each FeatureFlag of the cluster is shared with: one watch of metadata, and in memory only those that have the annotation. So a peer
 * that asks for a FeatureFlag of another namespace costs the API server nothing, whether it exists or not.
 */
export class ReaderIndex implements Runnable, ReflectorHandler {
  readonly name = "readers";
  readonly #shared: WatchShared;
  readonly #log: RateLimitedLog;
  #readers: Map<TopicKey, Readers> | undefined;
  /** Since when there is no watch, in ms of the monotonic clock. */
  #lostMs: number | undefined;

  constructor(shared: WatchShared) {
    this.#shared = shared;
    this.#log = new RateLimitedLog(shared.context.logger, shared.context.clock);
  }

  /** `unknown` before the first read, and when that is too long ago. */
  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    const isTooOld =
      this.#lostMs !== undefined && this.#shared.context.clock.monotonicMs() - this.#lostMs >= keptMs;
    return this.#readers === undefined || isTooOld ? "unknown" : this.#readers.get(topic);
  }

  async run(signal: AbortSignal): Promise<void> {
    const scope = { type: featureFlagType, isMetadataOnly: true };
    await this.#shared.watches.watch({ scope, handler: this }).run(signal);
  }

  beginRead(): ConsistentRead {
    const readers = new Map<TopicKey, Readers>();
    return {
      add: (object) => this.#put(readers, object),
      remove: (object) => remove(readers, object),
      complete: () => {
        this.#readers = readers;
        this.#lostMs = undefined;
      },
    };
  }

  event({ type, object }: ObjectEvent): void {
    if (this.#readers === undefined) return;
    if (type === "DELETED") remove(this.#readers, object);
    else this.#put(this.#readers, object);
  }

  resumed(): void {
    this.#lostMs = undefined;
  }

  interrupted(): void {
    this.#lostMs ??= this.#shared.context.clock.monotonicMs();
  }

  failed(error: KubeError): void {
    if (this.#readers !== undefined) return;
    // A proxy that may not see all FeatureFlags serves those that it may; only sharing is off.
    if (error.code === "FORBIDDEN") this.#readers = new Map();
    const remedy =
      error.code === "FORBIDDEN"
        ? "; to share FeatureFlags, allow the proxy's ServiceAccount to list and watch featureflags in the whole cluster"
        : "";
    this.#log.warn(
      "readers_unknown",
      { error },
      `the annotation bunting.dev/readers of FeatureFlags can't be read${remedy}`,
    );
  }

  #put(into: Map<TopicKey, Readers>, object: KubeObject): void {
    const { namespace, name } = object.metadata;
    if (namespace === undefined) return;
    const topic = topicKey(namespace, name);
    const { readers, warnings } = parseReaders(readersOfMetadata(object.metadata));
    if (readers === undefined) into.delete(topic);
    else into.set(topic, readers);
    for (const warning of warnings)
      this.#log.warn(
        "readers_malformed",
        { topic, warning },
        "a FeatureFlag is shared with less than it says",
        linesPerMinute,
      );
  }
}

function remove(from: Map<TopicKey, Readers>, { metadata: { namespace, name } }: KubeObject): void {
  if (namespace !== undefined) from.delete(topicKey(namespace, name));
}

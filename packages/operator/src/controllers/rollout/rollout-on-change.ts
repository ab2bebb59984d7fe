import type { ClusterWatches, EventRecorder, RestClient, RunningInformer } from "@bunting/kube";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import { aborted, isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { injectionHead, injectionName, injectionNames, injectionType } from "../../api/injection.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { followed } from "./following-pods.js";
import { restartWorkloads, type Restart } from "./restart-workloads.js";
import {
  joinedDigests,
  planRollout,
  rolledOutAnnotation,
  storedDigests,
  type StoredDigests,
} from "./rolled-out.js";

export interface RestartingSources {
  /** True if workloads with this text are to be restarted when what it stands for changes (`rolloutOnChange`). */
  readonly restarts: (namespace: string, text: string) => boolean;
  /** Resolves when `restarts` knows all sources. */
  readonly ready: Promise<void>;
  /** Calls back with each namespace of which `restarts` may say something else, until the returned function is called. */
  readonly listen: (listener: (namespace: string) => void) => () => void;
}

export interface RolloutOnChangeOptions {
  readonly client: Pick<RestClient, "readPage" | "patch" | "apply">;
  readonly watches: ClusterWatches;
  readonly events: Pick<EventRecorder, "record">;
  /** Whom to ask which sidecars follow their sources; undefined: nobody, and all are restarted. */
  readonly proxies: Pick<ProxyAgents, "readOf"> | undefined;
  readonly sources: RestartingSources;
  readonly context: Context<ControllerMetrics>;
}

/** A rollout that may not be written on the Injection yet, or that the informer has not heard of. */
interface BegunRollout {
  /** Of the Injection. */
  readonly uid: string | undefined;
  /** The annotation, once it is done. */
  readonly next: string;
  /** When workloads are restarted. */
  readonly at: string;
  isWritten: boolean;
}

/** An edit is often followed by another one, in ms. */
const settleMs = 3_000;
/** The shortest time between two restarts in a namespace: whoever shares a source with it may edit that all the time. */
const pauseMs = 60_000;
/** How long sidecars may take to follow a list, in ms: they do within a second or two. */
const patienceMs = 30_000;
const askEveryMs = 5_000;

/**
 * Restarts workloads when what their Pods would get has changed, if their FeatureFlagSource says so. Where only its FeatureFlags have, those are
 * restarted whose sidecars do not follow it. The digests that workloads run with are written
 * on the Injection: a start of the operator restarts nothing, and a change that was compiled by a leader which ended then is not lost.
 */
export class RolloutOnChange implements Runnable {
  readonly name = "rollout on change";
  readonly #options: RolloutOnChangeOptions;
  readonly #controller: Controller;
  #injections: RunningInformer<StoredDigests, never> | undefined;
  /** By namespace, until the informer has heard of it: what is tried again must not restart twice. */
  readonly #begun = new Map<string, BegunRollout>();
  /** When workloads of a namespace were restarted last, on the monotonic clock. */
  readonly #restartedMs = new Map<string, number>();
  /** Since when sidecars of a namespace are to follow what would be written as rolled out, on the monotonic clock. */
  readonly #awaited = new Map<string, { readonly next: string; readonly sinceMs: number }>();

  constructor(options: RolloutOnChangeOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "rollout",
      reconcile: (namespace, signal) => this.#reconcile(namespace, signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, sources } = this.#options;
    // Another leader may have gone on since.
    this.#begun.clear();
    this.#restartedMs.clear();
    this.#awaited.clear();
    const injections = watches.inform<StoredDigests>(
      { type: injectionType },
      {
        transform: storedDigests,
        handler: {
          changed: (_key, object) => {
            if (object !== undefined) this.#controller.after(object.metadata.namespace ?? "", settleMs);
          },
        },
      },
    );
    this.#injections = injections;
    // That a source asks for restarts from now on changes no Injection: what its Pods have has to be remembered before that changes.
    const stop = sources.listen((namespace) => this.#controller.after(namespace, settleMs));
    const work = async (): Promise<void> => {
      await Promise.race([sources.ready, aborted(signal)]);
      if (!isAborted(signal)) await this.#controller.run(signal);
    };
    await Promise.all([injections.run(signal), work()]).finally(stop);
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const stored = this.#storedIn(namespace);
    if (stored === undefined) {
      this.#begun.delete(namespace);
      this.#restartedMs.delete(namespace);
      this.#awaited.delete(namespace);
      return undefined;
    }
    const { client, sources, context } = this.#options;
    const { changed, relisted, next } = planRollout(stored, (text) => sources.restarts(namespace, text));
    const annotation = JSON.stringify(next);
    if (annotation === JSON.stringify(stored.rolledOut)) {
      this.#begun.delete(namespace);
      this.#awaited.delete(namespace);
      return undefined;
    }
    const before = this.#begun.get(namespace);
    const isAgain = before?.next === annotation && before.uid === stored.metadata.uid;
    if (isAgain && before.isWritten) return undefined;
    const behind =
      relisted.size === 0
        ? undefined
        : await this.#behind(namespace, stored, { relisted, annotation }, signal);
    if (behind === "awaited") return { requeueAfterMs: askEveryMs };
    const restarted = changed.size > 0 ? changed : behind?.size === 0 ? new Set<string>() : relisted;
    const sinceMs = context.clock.monotonicMs() - (this.#restartedMs.get(namespace) ?? -Infinity);
    if (restarted.size > 0 && !isAgain && sinceMs < pauseMs) return { requeueAfterMs: pauseMs - sinceMs };
    const begun = this.#begin(namespace, stored, annotation);
    if (restarted.size > 0)
      await this.#restart({ namespace, texts: restarted, workloads: behind, at: begun.at }, signal);
    const scope = { type: injectionType, namespace, name: injectionName };
    const annotations = { [rolledOutAnnotation]: annotation };
    const { uid } = stored.metadata;
    const object = { ...injectionHead, metadata: { name: injectionName, namespace, uid, annotations } };
    await client.apply(scope, object, { fieldManager: "bunting-operator-rollout", force: true }, signal);
    begun.isWritten = true;
    return undefined;
  }

  #storedIn(namespace: string): StoredDigests | undefined {
    const [first, ...further] = injectionNames.map((name) =>
      this.#injections?.informer.store.get(`${namespace}/${name}`),
    );
    if (first === undefined) return undefined;
    return joinedDigests(
      first,
      further.filter((each) => each !== undefined),
    );
  }

  /**
   * The workloads with sidecars that do not follow the lists of these texts; `awaited` as long as they may do it yet, or that is not known. Undefined
   * if nobody can be asked.
   */
  async #behind(
    namespace: string,
    { lists }: StoredDigests,
    { relisted, annotation }: { readonly relisted: ReadonlySet<string>; readonly annotation: string },
    signal: AbortSignal,
  ): Promise<ReadonlySet<string> | "awaited" | undefined> {
    const { client, proxies, context } = this.#options;
    if (proxies === undefined) return undefined;
    const nowMs = context.clock.monotonicMs();
    const known = this.#awaited.get(namespace);
    const { sinceMs } = known?.next === annotation ? known : { sinceMs: nowMs };
    this.#awaited.set(namespace, { next: annotation, sinceMs });
    const ofTexts = new Map([...lists].filter(([text]) => relisted.has(text)));
    const told = await followed(client, proxies, { namespace, lists: ofTexts }, signal);
    if (told.kind === "unknown") return "awaited";
    if (told.behind.size > 0 && nowMs - sinceMs < patienceMs) return "awaited";
    const behind = new Set([...told.unable, ...told.behind]);
    const texts = [...relisted].slice(0, 10);
    context.logger.info(
      { namespace, texts, restarted: [...behind].slice(0, 10) },
      "the FeatureFlags of sources have changed: sidecars that follow them are not restarted",
    );
    return behind;
  }

  #begin(namespace: string, { metadata: { uid } }: StoredDigests, next: string): BegunRollout {
    const before = this.#begun.get(namespace);
    if (before?.next === next && before.uid === uid) return before;
    const at = new Date(this.#options.context.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const begun = { uid, next, at, isWritten: false };
    this.#begun.set(namespace, begun);
    return begun;
  }

  async #restart(restart: Restart, signal: AbortSignal): Promise<void> {
    const { client, events, context } = this.#options;
    const { namespace } = restart;
    this.#restartedMs.set(namespace, context.clock.monotonicMs());
    for (const { kind, name, uid, text } of await restartWorkloads(client, restart, signal)) {
      events.record({
        regarding: { apiVersion: "apps/v1", kind, namespace, name, uid },
        type: "Normal",
        reason: "RolledOut",
        action: "Restart",
        note: `What the FeatureFlagSource ${text} stands for has changed, so its Pods are replaced.`,
      });
    }
  }
}

import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import type { ClusterWatches, RunningInformer } from "@bunting/kube";
import { aborted, isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { shortDigest } from "../../desired/entry-digest.js";
import type { FlagdSettings } from "../../desired/flagd/flagd-settings.js";
import { OperatorError } from "../../operator-error.js";
import { AppliedEvents } from "../apply/applied-events.js";
import { DriftPace } from "../apply/drift-pace.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { NamedObject } from "../named-object.js";
import { deployFlagd, planFlagd, type FlagdCluster, type FlagdInputs } from "./deploy-flagd.js";
import type { FlagdOutcome, FlagdProblem } from "./flagd-outcome.js";
import { FlagdStatus, type StoredFlagd } from "./flagd-status.js";
import { readFlagd, watchFlagds, watchMadeObjects } from "./flagd-watches.js";

/** FeatureFlagSources, merged as for Pods. */
export interface FlagdSources {
  /** Resolves when all of them are known. */
  readonly whenSynced: Promise<void>;
  inputs(namespace: string, reader: `flagd/${string}`): FlagdInputs["sources"];
  /** The Flagd asks for everything anew, or is gone: nobody hears for it of what it asked for before. */
  beginInputs(namespace: string, reader: `flagd/${string}`): void;
  /** Calls back with each namespace whose sources have changed, and where, until the returned function is called. */
  listen(listener: (namespace: string, by: string) => void): () => void;
}

export interface FlagdControllerOptions {
  readonly settings: FlagdSettings;
  readonly sources: FlagdSources;
  readonly watches: ClusterWatches;
  readonly cluster: FlagdCluster;
  /** Calls back with each namespace whose Flagds may have to change, because of extensions; absent: none is asked. */
  readonly extensions?: { listen(listener: (namespace: string) => void): () => void };
  readonly context: Context<ControllerMetrics>;
}

/** Interval of looks at what can't be watched: somebody else's object, a type that is not served. */
const lookMs = 60_000;
/** Flagds that are worked on at a time. */
const concurrency = 4;

/**
 * Deploys Flagds: each with a Deployment, a Service and, where wanted, an Ingress and an HTTPRoute. Changes of its FeatureFlagSource are followed,
 * and those that others make to its objects put back. The objects are garbage with their Flagd.
 */
export class FlagdController implements Runnable {
  readonly name = "flagd controller";
  readonly #options: FlagdControllerOptions;
  readonly #controller: Controller;
  readonly #pace: DriftPace;
  readonly #status: FlagdStatus;
  #flagds: RunningInformer<NamedObject, "namespace"> | undefined;

  constructor(options: FlagdControllerOptions) {
    const { cluster, context } = options;
    this.#options = options;
    this.#pace = new DriftPace(context.clock);
    this.#status = new FlagdStatus(cluster.client, context);
    this.#controller = new Controller({
      name: "flagd",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      concurrency,
      context,
    });
  }

  /** True if nothing is to be done now. */
  get isIdle(): boolean {
    return this.#controller.isIdle;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sources, watches, cluster, extensions, context } = this.#options;
    await Promise.race([sources.whenSynced, aborted(signal)]);
    if (isAborted(signal)) return;
    const onChange = (key: string): void => {
      // Objects of other controllers have the same label.
      if (this.#flagds?.informer.store.get(key) !== undefined) this.#controller.add(key);
      else {
        const [namespace = "", name = ""] = key.split("/");
        sources.beginInputs(namespace, `flagd/${name}`);
      }
    };
    const watched = { watches, discovery: cluster.discovery, context, onChange };
    this.#flagds = watchFlagds(watched);
    const stops = [
      sources.listen((namespace, by) => this.#sourceChanged(namespace, by)),
      extensions?.listen((namespace) => this.#sourceChanged(namespace, namespace)),
    ];
    await Promise.all([
      this.#flagds.run(signal),
      watchMadeObjects(watched, signal),
      this.#controller.run(signal),
    ]).finally(() => {
      for (const stop of stops) stop?.();
    });
  }

  #sourceChanged(namespace: string, by: string): void {
    for (const { metadata } of this.#flagds?.informer.store.by("namespace", namespace) ?? [])
      this.#controller.add(`${namespace}/${metadata.name}`, by);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { settings, sources, cluster, context } = this.#options;
    const flagd = await readFlagd(cluster.client, key, signal);
    if (flagd === undefined || flagd.metadata["deletionTimestamp"] !== undefined) return undefined;
    const { namespace, name } = flagd.metadata;
    const reader = `flagd/${name}` as const;
    sources.beginInputs(namespace, reader);
    const inputs = { sources: sources.inputs(namespace, reader), settings };
    const news = new AppliedEvents(cluster.events, context.logger);
    let wanted = "";
    try {
      const plan = planFlagd(flagd, inputs);
      wanted = shortDigest(plan);
      const leftMs = this.#pace.leftMs(key, wanted);
      if (leftMs > 0) return { requeueAfterMs: leftMs, isPutOff: true };
      const isRefused = "kind" in plan;
      const outcome = isRefused ? plan : await deployFlagd(flagd, plan, cluster, news, signal);
      for (const problem of problemsOf(outcome)) this.#report(flagd, problem);
      const writeAfterMs = await this.#status.write(flagd, outcome, signal);
      const requeueAfterMs = Math.min(writeAfterMs ?? Infinity, lookAfterMs(outcome));
      return requeueAfterMs === Infinity ? undefined : { requeueAfterMs };
    } catch (error) {
      if (isAborted(signal)) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const problem = { reason: reasonOf(error), message };
      this.#report(flagd, problem);
      await this.#status.write(flagd, { kind: "refused", problem }, signal);
      throw error;
    } finally {
      if (news.hasWritten) this.#pace.wrote(key, wanted);
    }
  }

  #report({ metadata }: StoredFlagd, { reason, message }: FlagdProblem): void {
    const { namespace, name, uid = "" } = metadata;
    this.#options.cluster.events.record({
      regarding: { apiVersion: openFeatureApiVersion, kind: "Flagd", namespace, name, uid },
      type: "Warning",
      reason,
      action: "Apply",
      note: message,
    });
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof OperatorError ? error.code : undefined;
  if (code === "EXTENSION_REFUSED") return "RefusedByExtension";
  return code === "EXTENSION_FAILED" ? "ExtensionFailed" : "ApplyFailed";
}

function problemsOf(outcome: FlagdOutcome): readonly FlagdProblem[] {
  return outcome.kind === "refused" ? [outcome.problem] : outcome.problems;
}

/** Until what no watch reports is looked at again. */
function lookAfterMs(outcome: FlagdOutcome): number {
  const isUnwatched = problemsOf(outcome).some(({ reason }) => unwatched.has(reason));
  return isUnwatched ? lookMs : Infinity;
}

const unwatched: ReadonlySet<string> = new Set(["NameTaken", "RoutesNotServed"]);

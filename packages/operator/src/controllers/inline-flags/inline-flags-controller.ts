import {
  inlineAnnotations,
  inlineFlagName,
  inlineFlagsOf,
  inlineKinds,
  maxInlineNameLength,
  openFeatureApiVersion,
} from "@bunting/featureflags/resources";
import {
  controllerOf,
  KubeError,
  unlessNotFound,
  type ClusterWatches,
  type EventRecorder,
  type KubeObject,
  type ObjectScope,
  type RestClient,
} from "@bunting/kube";
import { featureFlagType, isJsonObject } from "@bunting/protocol";
import { runInSlices, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { isDeepStrictEqual } from "node:util";
import { checkingInlineFlags, readInlineFlags } from "../../admission/inline-flags.js";
import { maxFindings } from "../../admission/validate-feature-flag.js";
import { isRefused } from "../../admission/validation-level.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import { inlineDigest, inlineFeatureFlag, inlineLabel } from "../../desired/inline-flag.js";
import { DriftPace } from "../apply/drift-pace.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { isRefusal } from "../injection/unwritten-outcome.js";
import { parseWorkloadKey, watchInlineWorkloads, type WorkloadKey } from "./inline-workloads.js";
import { workloadRemarks, type InlineOutcome } from "./workload-remarks.js";

export interface InlineFlagsOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update" | "patch" | "delete">;
  readonly watches: Pick<ClusterWatches, "inform">;
  readonly events: Pick<EventRecorder, "record">;
  /** Of a document as JSON, in bytes. */
  readonly maxDocumentBytes: number;
  readonly context: Context<ControllerMetrics>;
}

/** A workload as it is stored. */
type Workload = KubeObject & { readonly metadata: { readonly uid?: string } };

const query = { fieldManager: "bunting-operator-inline-flags" };
/** The garbage collector takes a while to delete what the workload before had. */
const collectedMs = 5_000;
/** A policy or a quota may refuse a FeatureFlag, or one of others have its name, and nobody tells when that is no longer so. */
const refusedMs = 60_000;

/**
 * Makes a FeatureFlag of the flags that a workload has in its own manifest, and keeps it as these say: it belongs to the workload, and goes with it or
 * with its annotation. What can't be stored is said on the workload, and the last flags stay. Only the leader runs it.
 */
export class InlineFlagsController implements Runnable {
  readonly name = "inline flags controller";
  readonly #options: InlineFlagsOptions;
  readonly #controller: Controller;
  readonly #pace: DriftPace;

  constructor(options: InlineFlagsOptions) {
    this.#options = options;
    this.#pace = new DriftPace(options.context.clock);
    this.#controller = new Controller({
      name: "inline-flags",
      reconcile: (key, signal) => this.#reconcile(parseWorkloadKey(key), signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const watches = watchInlineWorkloads(this.#options.watches, (key) => this.#controller.add(key));
    await Promise.all([this.#controller, ...watches].map((each) => each.run(signal)));
  }

  async #reconcile(key: WorkloadKey, signal: AbortSignal): Promise<WorkResult | undefined> {
    const workload = await this.#read(workloadScope(key), signal);
    if (workload === undefined || isEnding(workload)) return undefined;
    const { namespace, kind, name } = key;
    const given = inlineFlagsOf(workload.metadata.annotations);
    const scope = { type: featureFlagType, namespace, name: inlineFlagName(kind, name) };
    const live = await this.#read(scope, signal);
    if (given === undefined) {
      if (live !== undefined && holderOf(live, key, workload) === "workload")
        await this.#remove(scope, live, signal);
      await this.#remark(key, workload, null, signal);
      return undefined;
    }
    const desired = await this.#desired(key, workload, given.text);
    if ("problem" in desired) return this.#refuse(key, workload, desired.problem, signal);
    const holder = live === undefined ? "workload" : holderOf(live, key, workload);
    if (holder === "earlier workload") return { requeueAfterMs: collectedMs };
    if (holder === "another") {
      const note = `There is a FeatureFlag ${scope.name} that is not the workload's.`;
      this.#warn(key, workload, "NameTaken", note);
      await this.#say(key, workload, { kind: "nameTaken" }, signal);
      return { requeueAfterMs: refusedMs };
    }
    try {
      const { uid = "" } = workload.metadata;
      const leftMs = await this.#write(scope, live, { ...desired, uid }, signal);
      if (leftMs > 0) return { requeueAfterMs: leftMs };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.#refuse(key, workload, error.message, signal);
      return { requeueAfterMs: refusedMs };
    }
    return this.#say(key, workload, { kind: "stored", flags: desired.flags }, signal);
  }

  #refuse(key: WorkloadKey, workload: Workload, problem: string, signal: AbortSignal): Promise<undefined> {
    this.#warn(key, workload, "InlineFlagsRefused", `Its flags: ${problem}.`);
    return this.#say(key, workload, { kind: "refused", problem }, signal);
  }

  /** The FeatureFlag that is to be stored, or the reason why it can't be. It is checked at the level `errors`, whatever level the namespace has set: that one is for people who write FeatureFlags themselves. */
  async #desired(
    { kind, namespace, name }: WorkloadKey,
    { metadata: { uid = "" } }: Workload,
    text: string,
  ): Promise<{ readonly object: DesiredObject; readonly flags: number } | { readonly problem: string }> {
    if (name.length > maxInlineNameLength)
      return { problem: `the name of the workload has more than ${maxInlineNameLength} characters` };
    const flags = await readInlineFlags(text);
    if ("problem" in flags) return flags;
    const { maxDocumentBytes } = this.#options;
    const findings = await runInSlices(checkingInlineFlags(flags, { maxDocumentBytes, maxFindings }));
    const refused = findings.find((finding) => isRefused(finding, "errors"));
    if (refused !== undefined) return { problem: `${flags.placeOf(refused.path)}: ${refused.message}` };
    const { flagSpec } = flags;
    const { flags: definitions = null } = flagSpec;
    const count = isJsonObject(definitions) ? Object.keys(definitions).length : 0;
    return {
      object: inlineFeatureFlag({ kind, metadata: { namespace, name, uid }, flagSpec }),
      flags: count,
    };
  }

  /**
   * Replaces it as a whole: of an apply, flags that others have added would stay.
   *
   * @returns after how long what others have changed may be put back, in ms; 0 if nothing is left to do
   */
  async #write(
    scope: ObjectScope,
    live: KubeObject | undefined,
    { object: desired, uid }: { readonly object: DesiredObject; readonly uid: string },
    signal: AbortSignal,
  ): Promise<number> {
    const { client, context } = this.#options;
    const object = `${scope.namespace ?? ""}/${scope.name}`;
    const digest = desired.metadata.annotations?.[inlineDigest] ?? "";
    const wanted = `${uid} ${digest}`;
    const leftMs = this.#pace.leftMs(object, wanted);
    if (live === undefined) {
      if (leftMs > 0) return leftMs;
      await client.create({ type: scope.type, namespace: scope.namespace ?? "" }, desired, signal, { query });
      this.#pace.wrote(object, wanted);
      context.logger.info({ object }, "the flags of a workload are a FeatureFlag");
      return 0;
    }
    const { metadata, ...body } = desired;
    const { labels, annotations, ownerReferences } = metadata;
    const next = {
      ...live,
      ...body,
      metadata: {
        ...live.metadata,
        labels: { ...live.metadata.labels, ...labels },
        annotations: { ...live.metadata.annotations, ...annotations },
        ownerReferences,
      },
    };
    if (isDeepStrictEqual(next, live)) return 0;
    if (leftMs > 0) return leftMs;
    const isDrift = controllerOf(live)?.uid === uid && live.metadata.annotations?.[inlineDigest] === digest;
    const written = await client.update(scope, next, signal, { query });
    context.logger.info(
      { object },
      isDrift ? "what others changed of a workload's FeatureFlag is put back" : "a workload has other flags",
    );
    this.#pace.wrote(object, wanted);
    if (isDrift) this.#putBack(written);
    return 0;
  }

  #putBack({ metadata: { namespace = "", name, uid = "" } }: KubeObject): void {
    this.#options.events.record({
      regarding: { apiVersion: openFeatureApiVersion, kind: "FeatureFlag", namespace, name, uid },
      type: "Warning",
      reason: "DriftRepaired",
      action: "Apply",
      note: `What was changed here is put back: change ${inlineAnnotations.flags} of the workload instead.`,
    });
  }

  async #remove(scope: ObjectScope, { metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = metadata;
    await unlessNotFound(
      this.#options.client.delete(scope, signal, { preconditions: { uid, resourceVersion } }),
    );
    const object = `${scope.namespace ?? ""}/${scope.name}`;
    this.#options.context.logger.info({ object }, "a workload has no flags of its own any more");
  }

  async #say(
    key: WorkloadKey,
    workload: Workload,
    outcome: InlineOutcome,
    signal: AbortSignal,
  ): Promise<undefined> {
    await this.#remark(key, workload, workloadRemarks(key.kind, workload, outcome), signal);
    return undefined;
  }

  /** @param text null: there is nothing to say */
  async #remark(
    key: WorkloadKey,
    { metadata: { uid, annotations = {} } }: Workload,
    text: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    if ((annotations[inlineAnnotations.remarks] ?? null) === text) return;
    const patch = { metadata: { uid, annotations: { [inlineAnnotations.remarks]: text } } };
    try {
      await unlessNotFound(this.#options.client.patch(workloadScope(key), "merge", patch, signal, { query }));
    } catch (error) {
      // Another workload has its name, and is looked at by itself.
      if (!(error instanceof KubeError && error.code === "CONFLICT")) throw error;
    }
  }

  #warn({ kind, namespace, name }: WorkloadKey, { metadata }: Workload, reason: string, note: string): void {
    const { group, version } = inlineKinds[kind];
    const { uid } = metadata;
    const named = { apiVersion: `${group}/${version}`, kind, namespace, name };
    this.#options.events.record({
      regarding: uid === undefined ? named : { ...named, uid },
      type: "Warning",
      reason,
      action: "ReadInlineFlags",
      note,
    });
  }

  #read(scope: ObjectScope, signal: AbortSignal): Promise<Workload | undefined> {
    return unlessNotFound(this.#options.client.get(scope, signal));
  }
}

function workloadScope({ namespace, kind, name }: WorkloadKey): ObjectScope {
  const { group, version, plural } = inlineKinds[kind];
  return { type: { group, version, plural }, namespace, name };
}

/** Owner of the FeatureFlag that has the name of a workload's own. */
type FlagHolder =
  | "workload"
  /** Nobody's any more: its workload was deleted without it, as to make a StatefulSet anew, or somebody has taken the owner away. */
  | "nobody"
  /** Of a workload that was of the same name, with which the garbage collector deletes it. */
  | "earlier workload"
  | "another";

function holderOf(flag: KubeObject, { kind, name }: WorkloadKey, { metadata }: Workload): FlagHolder {
  const owner = controllerOf(flag);
  if (owner === undefined)
    return flag.metadata.labels?.[inlineLabel] === kind.toLowerCase() ? "nobody" : "another";
  if (owner.uid === metadata.uid) return "workload";
  return owner.kind === kind && owner.name === name ? "earlier workload" : "another";
}

function isEnding({ metadata }: KubeObject): boolean {
  return metadata["deletionTimestamp"] !== undefined;
}

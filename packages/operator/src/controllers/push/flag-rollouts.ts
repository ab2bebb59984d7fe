import { hash } from "node:crypto";
import { unlessNotFound, type EventRecorder, type KubeObject, type RestClient } from "@bunting/kube";
import {
  decodeWhole,
  defaultedFlagRollout,
  isGivenUp,
  readFlagRolloutStatus,
  rolloutAnnotations,
  type FlagRollout,
  type FlagRolloutStatus,
} from "@bunting/featureflags/resources";
import {
  digestingDocument,
  documentOfFeatureFlag,
  featureFlagType,
  ProtocolError,
  type FlagDocument,
} from "@bunting/protocol";
import { parseDuration, runInSlices, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import {
  nextPush,
  type PushInputs,
  type PushRecord,
  type PushSettings,
  type PushVerdict,
} from "../../push/push-plan.js";
import type { WaveWatch } from "../../push/push-wave.js";
import { pushEvidence, type PushEvidence } from "../../push/told-push.js";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { Controller } from "../controller.js";
import { StatusWriter, type StatusTarget } from "../status-writer.js";
import type { FlagRolloutMetrics } from "./flag-rollout-metrics.js";
import { FlagRolloutNotices } from "./flag-rollout-notices.js";
import {
  newRolloutStatus,
  saidOf,
  type FoundRollout,
  type RolledOutFeatureFlag,
} from "./new-rollout-status.js";
import { RecentReports } from "./recent-reports.js";

export interface FlagRolloutsOptions {
  readonly client: Pick<RestClient, "get" | "apply">;
  /** Undefined if nobody asks them: then nothing is rolled out. */
  readonly proxies: Pick<ProxyAgents, "read"> | undefined;
  readonly events: Pick<EventRecorder, "record">;
  readonly context: Context<ControllerMetrics & FlagRolloutMetrics>;
}

/** Of its own: the other fields of the status are applied by other controllers. */
const statusManager = "bunting-operator-rollout";
const maxOrderCharacters = 64;
const writesOfAll = { burst: 5, perSecond: 5 };
/** The object has another version than the one that was looked at, or is gone. */
const lookAnew: WorkResult = { requeueAfterMs: 1_000 };

/**
 * Decides how far new versions of FeatureFlags with spec.rollout are, and says so in their status, which the proxies go by. FeatureFlagWatch tells of
 * changes, `nextPush` has the phases and decides, and `newRolloutStatus` puts it into words. Only the leader runs it.
 *
 * The _whole_ version is the one that all agents are to have. It is kept in the status, because the spec has the newest version, which only the agents
 * of the waves so far are to try.
 *
 * Invariants:
 * - What decides is in the object and in what the proxies say of their agents, so another leader goes on from there. What is held by key here is
 *   observed again (`#watches`), or saves work and writes.
 * - A whole version whose document does not have its digest counts as none, as at the proxies: the newest version is then the first one.
 * - Where the newest version is too large to be kept as the whole one, it is served to all at once, and the status has no rollout.
 * - What was decided is written to the version of the object that it was decided from, or not at all: somebody may have reverted the flags meanwhile, or given
 *   them up, and the version that has just become whole would take the place of the one before.
 * - The status is written when there is news, or when a wave has twice the agents that are stored; other counts of agents are not worth a version.
 * - A FeatureFlag of which a flag can't be served is left as it is: its condition Accepted says why.
 * - Where nobody asks the proxies, what earlier settings have written is taken back, or no edit would reach anybody any more. What has been stopped stays so
 *   until it is edited or resumed.
 */
export class FlagRollouts implements Runnable {
  readonly name = "rollouts of FeatureFlags";
  readonly #options: FlagRolloutsOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;
  readonly #notices: FlagRolloutNotices;
  readonly #reports: RecentReports | undefined;
  readonly #watches = new Map<string, WaveWatch>();
  /** By key, what was written last: of a definition of the type that does not know all of it, it does not come back. */
  readonly #written = new Map<string, PushRecord>();
  /** By key: a name of the whole version whose document was found to be the one with its digest. */
  readonly #trustedVersions = new Map<string, string>();

  constructor(options: FlagRolloutsOptions) {
    const { context } = options;
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager: statusManager, rate: writesOfAll });
    this.#notices = new FlagRolloutNotices(options.events, context.metrics);
    this.#reports = options.proxies && new RecentReports(options.proxies, context.clock);
    this.#controller = new Controller({
      name: "flag-rollout",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context,
    });
  }

  /** A FeatureFlag that has spec.rollout, or had it, has changed. */
  changed(key: string): void {
    this.#controller.add(key);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#controller.run(signal);
    this.#watches.clear();
    this.#written.clear();
    this.#trustedVersions.clear();
    this.#notices.clear();
    this.#reports?.clear();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const [namespace = "", name = ""] = key.split("/");
    const scope = { type: featureFlagType, namespace, name };
    const object: RolledOutFeatureFlag | undefined = await unlessNotFound(
      this.#options.client.get(scope, signal),
    );
    const rollout = object?.spec?.rollout ?? undefined;
    if (object === undefined || rollout === undefined) {
      this.#watches.delete(key);
      this.#written.delete(key);
      this.#trustedVersions.delete(key);
      this.#notices.is(key, undefined);
    }
    if (object === undefined) return undefined;
    const { uid, resourceVersion } = object.metadata;
    const metadata = { namespace, name, uid, resourceVersion };
    const target: StatusTarget = { type: featureFlagType, kind: "FeatureFlag", metadata };
    if (rollout === undefined) return this.#takeBack(target, object, signal);
    const document = wellFormed(object);
    if (document === undefined) {
      // What has halted was the version before.
      this.#notices.is(key, undefined);
      this.#watches.delete(key);
      return undefined;
    }
    const digest = await runInSlices(digestingDocument(document));
    const stored = this.#trusted(key, readFlagRolloutStatus(object.status?.rollout));
    if (this.#reports === undefined && !isStopped(stored, digest, object)) {
      this.#notices.is(key, undefined);
      return this.#takeBack(target, object, signal);
    }
    const isNew = stored !== undefined && stored.whole.digest !== digest;
    const evidence = isNew ? await this.#evidence(key, digest, signal) : undefined;
    return this.#advance(
      key,
      target,
      { object, document, digest, settings: settingsOf(rollout), stored, evidence },
      signal,
    );
  }

  /** An API server takes back what an apply leaves out. */
  async #takeBack(
    target: StatusTarget,
    { status: { rollout, conditions } = {} }: RolledOutFeatureFlag,
    signal: AbortSignal,
  ): Promise<WorkResult | undefined> {
    if (rollout === undefined && saidOf(conditions) === undefined) return undefined;
    const outcome = await this.#writer.write(target, {}, signal);
    return outcome === "gone" ? lookAnew : undefined;
  }

  /** Undefined where the whole version is not what its digest says, so that the proxies do not serve it: then the newest one is the first. */
  #trusted(key: string, stored: FlagRolloutStatus | undefined): FlagRolloutStatus | undefined {
    if (stored === undefined) return undefined;
    const { whole } = stored;
    const name = hash("sha256", `${whole.digest} ${whole.document}`);
    if (this.#trustedVersions.get(key) === name) return stored;
    if (decodeWhole(whole) === undefined) return undefined;
    this.#trustedVersions.set(key, name);
    return stored;
  }

  async #evidence(key: string, digest: string, signal: AbortSignal): Promise<PushEvidence | undefined> {
    const told = await this.#reports?.of(key, signal);
    return told && pushEvidence(told, digest);
  }

  /** Decides, and writes what was decided once the object's status may be written again. */
  async #advance(
    key: string,
    target: StatusTarget,
    found: FoundRollout,
    signal: AbortSignal,
  ): Promise<WorkResult | undefined> {
    const verdict = nextPush(this.#inputs(key, found));
    if (verdict.watch === undefined) this.#watches.delete(key);
    else this.#watches.set(key, verdict.watch);
    this.#notices.is(key, verdict.record.phase);
    const again = verdict.againMs === undefined ? undefined : { requeueAfterMs: verdict.againMs };
    const status = newRolloutStatus(
      found,
      verdict,
      this.#hasGrown(key, found.stored, verdict),
      this.#options.context.clock.now(),
    );
    if (status === undefined) return again;
    // An agent that complains may have gone when the pause is over: its Pod is restarted.
    const isHalt = status.isNews && verdict.record.phase === "Halted";
    const leftMs = isHalt ? 0 : this.#writer.pauseLeftMs(target, status.isNews ? "news" : "counts");
    if (leftMs > 0) return { requeueAfterMs: Math.min(leftMs, verdict.againMs ?? leftMs) };
    const outcome = await this.#writer.write(target, status.fields, signal);
    if (outcome === "gone") return lookAnew;
    this.#written.set(key, verdict.record);
    if (outcome === "written" && status.isNews) {
      const note = status.fields.conditions[0]?.message ?? "";
      this.#notices.entered(found.object, { phase: verdict.record.phase, before: found.stored?.phase, note });
    }
    return again;
  }

  #inputs(key: string, { object, digest, settings, stored, evidence }: FoundRollout): PushInputs {
    const { annotations } = object.metadata;
    return {
      ...{ settings, digest, before: stored, wholeDigest: stored?.whole.digest, evidence },
      isAborted: isGivenUp(annotations, digest),
      resumed: orderOf(annotations?.[rolloutAnnotations.resumed]),
      watch: this.#watches.get(key),
      nowMs: this.#options.context.clock.monotonicMs(),
    };
  }

  /** True once a wave has twice the agents that are stored: another leader misses them where less than a quarter of them is left. */
  #hasGrown(
    key: string,
    stored: FlagRolloutStatus | undefined,
    { record: { digest, wave, tried } }: PushVerdict,
  ): boolean {
    const written = this.#written.get(key);
    const isOfWave = written?.digest === digest && written.wave === wave;
    return tried > 0 && tried >= 2 * Math.max(stored?.tried ?? 0, isOfWave ? written.tried : 0);
  }
}

/** Agents refuse this very version, or somebody has given it up or paused it, and nobody has resumed it. */
function isStopped(
  stored: FlagRolloutStatus | undefined,
  digest: string,
  { metadata: { annotations }, spec }: RolledOutFeatureFlag,
): boolean {
  if (stored?.digest !== digest) return false;
  switch (stored.phase) {
    case "Aborted":
      return isGivenUp(annotations, digest);
    case "Halted":
      return stored.resumed === orderOf(annotations?.[rolloutAnnotations.resumed]);
    case "Paused":
      return spec?.rollout?.paused === true;
    default:
      return false;
  }
}

/** Undefined for a long text as well: it would have to be kept in the status, beside flags that may leave no room there. */
function orderOf(annotation: string | undefined): string | undefined {
  return annotation === undefined || annotation.length > maxOrderCharacters ? undefined : annotation;
}

/** Undefined if some of it can't be served: the condition Accepted says why, and the proxies have nobody try it. */
function wellFormed(object: KubeObject): FlagDocument | undefined {
  try {
    const { document, refused } = documentOfFeatureFlag(object);
    return refused.length === 0 ? document : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

function settingsOf(rollout: FlagRollout): PushSettings {
  const { waves, observe, maxRefusing, paused } = defaultedFlagRollout(rollout);
  return {
    waves: waves.toSorted((a, b) => a - b),
    observeMs: parseDuration(observe),
    maxRefusing,
    isPaused: paused,
  };
}

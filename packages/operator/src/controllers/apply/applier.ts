import { KubeError, type KubeObject, type ObjectScope, type RestClient, unlessNotFound } from "@bunting/kube";
import type { DesiredObject } from "../../desired/desired-object.js";
import { managerLabel, type ApplyMetrics } from "./apply-metrics.js";
import { fieldConflicts, type FieldConflict } from "./field-conflict.js";
import { withoutField } from "./field-path.js";
import { adoption, fieldManager, isOurs, scalerOf } from "./managed-object.js";
import { resourceTypeOf } from "./resource-types.js";

/** What becomes of fields that other tools apply, such as Argo CD: `repair` leaves them to these tools, `enforce` takes them over. */
export type DriftPolicy = "repair" | "enforce";

export interface ApplierOptions {
  readonly client: Pick<RestClient, "get" | "apply" | "patch" | "delete">;
  readonly drift: DriftPolicy;
  readonly metrics: ApplyMetrics;
}

export type Applied =
  | {
      readonly kind: "applied";
      readonly object: KubeObject;
      /** `adopted`: the open-feature-operator had made it. */
      readonly change: "created" | "adopted" | "changed" | "none";
      /** Fields of other managers that were put back. */
      readonly overruled: readonly FieldConflict[];
      /** Fields of other managers that stay as they are. */
      readonly overridden: readonly FieldConflict[];
      /** Whose number of replicas stays; undefined if it is ours. */
      readonly scaledBy: string | undefined;
    }
  /** Somebody else's object has the name; it was not touched. */
  | { readonly kind: "nameTaken"; readonly object: KubeObject };

const replicasField = ".spec.replicas";
/** Attempts at an object that others change at the same time. */
const maxAttempts = 5;

/** What an attempt found. */
interface Attempt {
  readonly scope: ObjectScope;
  readonly desired: DesiredObject;
  readonly live: KubeObject | undefined;
  readonly isAdopted: boolean;
  readonly scaledBy: string | undefined;
}

/**
 * Makes objects what they should be, by server-side apply, so that fields of others stay as they are. Where others have changed a field of ours:
 *
 * - Managers that update (an edit, a patch, the open-feature-operator) are overruled: the field is put back.
 * - Managers that apply mean to own the field, and would put their value back again; the field is left to them, unless drift is enforced.
 * - The number of replicas is left to whoever else has set it, an HPA for instance, and that of a Flagd to autoscalers alone. As long as nobody has, it
 *   must be applied: left out, it would fall to 1.
 */
export class Applier {
  readonly #options: ApplierOptions;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  /** @throws KubeError */
  async apply(desired: DesiredObject, signal: AbortSignal): Promise<Applied> {
    const { name, namespace } = desired.metadata;
    const scope = { type: resourceTypeOf(desired), name, ...(namespace === undefined ? {} : { namespace }) };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#try(scope, desired, signal);
      } catch (error) {
        // Somebody else has written between our reading and our writing.
        const isRace = error instanceof KubeError && error.code === "CONFLICT";
        if (!isRace || attempt === maxAttempts) throw error;
      }
    }
  }

  /**
   * Deletes an object that is no longer desired, and with it what it owns.
   *
   * @param former as it would be applied; only its kind, names and owners matter
   * @returns false if there was none, or if it is somebody else's, which stays
   * @throws KubeError
   */
  async remove(former: DesiredObject, signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = former.metadata;
    const scope = { type: resourceTypeOf(former), name, ...(namespace === undefined ? {} : { namespace }) };
    const live = await this.#read(scope, signal);
    if (live === undefined || !isOurs(live, former) || isEnding(live)) return false;
    const { uid, resourceVersion } = live.metadata;
    const body = { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" };
    await unlessNotFound(this.#options.client.delete(scope, signal, body));
    return true;
  }

  async #try(scope: ObjectScope, desired: DesiredObject, signal: AbortSignal): Promise<Applied> {
    const { client } = this.#options;
    let live = await this.#read(scope, signal);
    if (live !== undefined && !isOurs(live, desired)) return { kind: "nameTaken", object: live };
    const patch = live === undefined ? undefined : adoption(live);
    if (patch !== undefined) live = await client.patch(scope, "json", patch, signal);
    const scaler = live === undefined ? undefined : scalerOf(live, desired);
    const body = (scaler === undefined ? undefined : withoutField(desired, replicasField)) ?? desired;
    const scaledBy = body === desired ? undefined : scaler;
    const attempt = { scope, desired: body, live, isAdopted: patch !== undefined, scaledBy };
    try {
      return applied(attempt, await client.apply(scope, body, { fieldManager }, signal));
    } catch (error) {
      const conflicts = error instanceof KubeError ? fieldConflicts(error) : [];
      if (live === undefined || conflicts.length === 0) throw error;
      return this.#resolve(attempt, conflicts, signal);
    }
  }

  async #resolve(
    attempt: Attempt,
    conflicts: readonly FieldConflict[],
    signal: AbortSignal,
  ): Promise<Applied> {
    const { client, drift, metrics } = this.#options;
    const overridden = drift === "enforce" ? [] : conflicts.filter(({ operation }) => operation === "Apply");
    const overruled = conflicts.filter((conflict) => !overridden.includes(conflict));
    const { metadata, ...body } = overridden.reduce(leaving, attempt.desired);
    // The conflicts are those of this version: with force, later ones would be overruled unseen, an HPA's replicas for instance.
    const { resourceVersion } = attempt.live?.metadata ?? {};
    const forced = { ...body, metadata: { ...metadata, resourceVersion } };
    const object = await client.apply(attempt.scope, forced, { fieldManager, force: true }, signal);
    for (const { manager } of conflicts) metrics.drifted(attempt.desired.kind, managerLabel(manager));
    return { ...applied(attempt, object), overruled, overridden };
  }

  #read(scope: ObjectScope, signal: AbortSignal): Promise<KubeObject | undefined> {
    return unlessNotFound(this.#options.client.get(scope, signal));
  }
}

function applied(
  { live, isAdopted, scaledBy }: Attempt,
  object: KubeObject,
): Applied & { readonly kind: "applied" } {
  const isSame = live?.metadata.resourceVersion === object.metadata.resourceVersion;
  const change = live === undefined ? "created" : isAdopted ? "adopted" : isSame ? "none" : "changed";
  return { kind: "applied", object, change, overruled: [], overridden: [], scaledBy };
}

function leaving(desired: DesiredObject, { field, manager }: FieldConflict): DesiredObject {
  const object = withoutField(desired, field);
  // Of the two bounds of a PodDisruptionBudget, only one may be set.
  if (field === ".spec.minAvailable" && object !== undefined)
    return withoutField(object, ".spec.maxUnavailable") ?? object;
  if (object !== undefined) return object;
  // Applied with force, it would be taken from its manager.
  throw new Error(`the field ${field}, which ${manager} applies, was not found in what is applied`);
}

function isEnding({ metadata }: KubeObject): boolean {
  return metadata["deletionTimestamp"] !== undefined;
}

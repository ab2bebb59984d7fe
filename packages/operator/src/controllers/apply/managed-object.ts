import {
  takeOverFields,
  type FieldSet,
  type KubeObject,
  type ManagedFieldsEntry,
  type OwnerReference,
} from "@bunting/kube";
import { managedBy, nameLabel, replicasAnnotation } from "../../api/names.js";
import type { DesiredObject } from "../../desired/desired-object.js";

/** The name under which we apply. It never changes: fields that were applied under another one would stay for ever. */
export const fieldManager = "bunting-operator";

/**
 * True if the object may be applied over this one: it has the label by which the open-feature-operator marks its own, or we have applied it
 * before, and it belongs to an owner of the same kind, if to any. All others have the name by accident, and belong to somebody.
 *
 * Objects made for a Flagd must belong to that Flagd, or to an earlier one of its name: a user who may create Flagds in a namespace must not get
 * hold of a Deployment there by a label or a name. Restored from a backup, they belong to nobody, and are known by both labels that all of a Flagd have.
 */
export function isOurs(live: KubeObject, desired: Pick<DesiredObject, "metadata">): boolean {
  const isMarked = live.metadata.labels?.[managedBy.label] === managedBy.value;
  if (!isMarked && !entriesOf(live).some(isApplied)) return false;
  const [owners, wanted] = [ownersOf(live), ownersOf(desired)];
  const isOfFlagd = belongsToFlagd(desired);
  if (wanted.length === 0) return true;
  if (owners.length === 0) return !isOfFlagd || (isMarked && isNamedFor(live, desired));
  return owners.some(({ kind, name }) =>
    wanted.some((owner) => owner.kind === kind && (!isOfFlagd || owner.name === name)),
  );
}

/** True if it has the label by which objects of a Flagd name that. Those of the proxy have none. */
function isNamedFor(
  { metadata }: KubeObject,
  { metadata: { name } }: Pick<DesiredObject, "metadata">,
): boolean {
  return metadata.labels?.[nameLabel] === name;
}

/**
 * A patch that makes the fields ours that the open-feature-operator wrote: else those that we do not apply would stay for ever. Its manager is
 * called as its binary.
 *
 * @returns undefined if there are none
 */
export function adoption(live: KubeObject): ReturnType<typeof takeOverFields> {
  return takeOverFields(
    live,
    fieldManager,
    ({ manager, operation }) => manager === "manager" && operation === "Update",
  );
}

/**
 * The manager to whom the number of replicas is left: whoever else has set it, an HPA, `kubectl scale` or another apply.
 *
 * People who want another number of replicas of a Flagd say so in the Flagd. So of its Deployment the number is left to autoscalers alone, which use the
 * subresource `scale` as `kubectl scale` does, and only until the Flagd asks for another number.
 */
export function scalerOf(live: KubeObject, desired: Pick<DesiredObject, "metadata">): string | undefined {
  const isOfFlagd = belongsToFlagd(desired);
  if (isOfFlagd && asksAnew(live, desired)) return undefined;
  const scaler = entriesOf(live).find(
    (entry) =>
      !isApplied(entry) &&
      !hasMade(entry) &&
      has(entry.fieldsV1, ["f:spec", "f:replicas"]) &&
      (!isOfFlagd || (entry.subresource === "scale" && entry.manager !== "kubectl")),
  );
  return scaler === undefined ? undefined : (scaler.manager ?? "others");
}

function asksAnew(live: KubeObject, desired: Pick<DesiredObject, "metadata">): boolean {
  const before = live.metadata.annotations?.[replicasAnnotation];
  return before !== undefined && before !== desired.metadata.annotations?.[replicasAnnotation];
}

/** True of what is made for a Flagd. */
export function belongsToFlagd(desired: Pick<DesiredObject, "metadata">): boolean {
  return ownersOf(desired).some(({ kind }) => kind === "Flagd");
}

type Owner = Pick<OwnerReference, "kind" | "name">;

/** True of who has created the whole object, as whoever restores a backup does: the selector of a Deployment never changes, so nobody else writes it. */
function hasMade({ operation, fieldsV1 }: ManagedFieldsEntry): boolean {
  return operation === "Update" && has(fieldsV1, ["f:spec", "f:selector"]);
}

function isApplied({ manager, operation, subresource }: ManagedFieldsEntry): boolean {
  return manager === fieldManager && operation === "Apply" && subresource === undefined;
}

function has(fields: FieldSet | undefined, [first, ...rest]: readonly string[]): boolean {
  if (first === undefined) return true;
  const inner = fields?.[first];
  return inner !== undefined && has(inner, rest);
}

function entriesOf({ metadata }: KubeObject): readonly ManagedFieldsEntry[] {
  return (metadata as { readonly managedFields?: readonly ManagedFieldsEntry[] }).managedFields ?? [];
}

function ownersOf({ metadata }: Pick<DesiredObject, "metadata">): readonly Owner[] {
  return (metadata.ownerReferences ?? []) as readonly Owner[];
}

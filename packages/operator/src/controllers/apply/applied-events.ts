import type { EventDetails, EventRecorder } from "@bunting/kube";
import type { Logger } from "@bunting/runtime";
import { managedBy, nameLabel } from "../../api/names.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import type { Applied } from "./applier.js";
import type { FieldConflict } from "./field-conflict.js";
import { belongsToFlagd } from "./managed-object.js";

/** Says in events and in the log what came of applying objects. */
export class AppliedEvents {
  readonly #events: Pick<EventRecorder, "record">;
  readonly #logger: Pick<Logger, "info" | "warn">;
  #hasWritten = false;

  constructor(events: Pick<EventRecorder, "record">, logger: Pick<Logger, "info" | "warn">) {
    this.#events = events;
    this.#logger = logger;
  }

  /** True if one was not as it should be, whether others had written fields of it, had taken some out, or had deleted it. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  report(desired: DesiredObject, applied: Applied): void {
    const { kind, metadata } = desired;
    const object = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    if (applied.kind === "nameTaken") {
      this.#record(desired, applied, "NameTaken", nameTaken(desired));
      return;
    }
    const { change, overruled, overridden, scaledBy } = applied;
    if (change !== "none") {
      this.#hasWritten = true;
      this.#logger.info({ object, change }, "applied");
    }
    if (change === "created")
      this.#record(desired, applied, "Created", `The operator has created the ${kind}.`);
    if (change === "adopted") {
      this.#record(
        desired,
        applied,
        "Adopted",
        `The operator has taken over the ${kind} of the open-feature-operator.`,
      );
    }
    if (overruled.length > 0) {
      const advice = belongsToFlagd(desired) ? " Change the Flagd instead." : "";
      const note = `Fields that others had changed are put back: ${fieldsOf(overruled)}.${advice}`;
      this.#record(desired, applied, "DriftRepaired", note);
    }
    if (scaledBy !== undefined) {
      const end = belongsToFlagd(desired) ? ", until the Flagd asks for another one" : "";
      const note = `The number of replicas is left to ${scaledBy}, which has scaled the ${kind}${end}.`;
      this.#record(desired, applied, "ScaledByOthers", note);
    }
    if (overridden.length > 0) {
      const note = `Fields stay as others apply them: ${fieldsOf(overridden)}. --drift=enforce would take them back.`;
      this.#record(desired, applied, "Overridden", note);
    }
  }

  #record(
    { apiVersion, kind, metadata }: DesiredObject,
    { object }: Applied,
    reason: Reason,
    note: string,
  ): void {
    const { namespace, name } = metadata;
    const { uid } = object.metadata;
    const details: EventDetails = {
      regarding: {
        apiVersion,
        kind,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
      },
      type: isNormal.has(reason) ? "Normal" : "Warning",
      reason,
      action: "Apply",
      note,
    };
    this.#events.record(details);
  }
}

type Reason = "NameTaken" | "Created" | "Adopted" | "DriftRepaired" | "ScaledByOthers" | "Overridden";
const isNormal: ReadonlySet<Reason> = new Set(["Created", "Adopted", "ScaledByOthers"]);

/** Why an object was not applied, for events and conditions. */
export function nameTaken(desired: DesiredObject): string {
  const { kind, metadata } = desired;
  const { namespace = "", name } = metadata;
  const label = `${managedBy.label}=${managedBy.value}`;
  const labels = belongsToFlagd(desired) ? `labels ${label} and ${nameLabel}=${name}` : `label ${label}`;
  return `the ${kind} ${namespace}/${name} is not the operator's, so it is left as it is; rename or delete it, or let the operator have it by the ${labels}`;
}

function fieldsOf(conflicts: readonly FieldConflict[]): string {
  return conflicts.map(({ field, manager }) => `${field} (${manager})`).join(", ");
}

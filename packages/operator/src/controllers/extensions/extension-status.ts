import { setCondition, type Condition } from "@bunting/kube";
import type { Extension, ExtensionStatus } from "../../api/extension.js";
import type { AskedOrder } from "./cluster-extensions.js";
import type { HealthState } from "./extension-health.js";

type Verdict = Pick<Condition, "status" | "reason" | "message">;

/** Of the status of an Extension, where it is in the order. */
export function placeStatus(
  { metadata, status }: Extension,
  { order, cycles }: AskedOrder,
  nowMs: number,
): ExtensionStatus {
  const { name, generation } = metadata;
  const observed = observedOf(generation);
  const circle = cycles.get(name);
  const before = status?.conditions?.filter(({ type }) => type === "Ordered") ?? [];
  return {
    ...observed,
    order: order.findIndex((each) => each.metadata.name === name) + 1,
    ...(circle === undefined ? {} : { cycle: circle.join(" → ") }),
    conditions: setCondition(before, { type: "Ordered", ...orderVerdict(circle), ...observed }, nowMs),
  };
}

/** Of the status of an Extension, how it does; undefined if it is to stay as it is. */
export function healthStatus(
  { metadata: { generation }, status = {} }: Extension,
  health: HealthState,
  nowMs: number,
): ExtensionStatus | undefined {
  const before = status.conditions?.filter(({ type }) => type === "Healthy") ?? [];
  const [known] = before;
  // What others have found of the same version is worth more than nothing.
  const isOfThis = known?.status !== "False" && known?.observedGeneration === generation;
  if (health.kind === "unasked" && (known === undefined || isOfThis)) return undefined;
  const lastError = (health.kind === "unasked" ? undefined : health.lastError) ?? status.lastError;
  const healthy = { type: "Healthy", ...healthVerdict(health), ...observedOf(generation) };
  const conditions = setCondition(before, healthy, nowMs);
  if (conditions === before && lastError === status.lastError) return undefined;
  return { ...(lastError === undefined ? {} : { lastError }), conditions };
}

/** Why the status of an Extension calls this version of it failing; undefined if it does not. */
export function storedFailure({ metadata: { generation }, status = {} }: Extension): string | undefined {
  const { conditions = [], lastError } = status;
  const isFailing = conditions.some(
    ({ type, status: verdict, observedGeneration }) =>
      type === "Healthy" && verdict === "False" && observedGeneration === generation,
  );
  return isFailing ? (lastError ?? "another replica has found it so") : undefined;
}

function observedOf(generation: number | undefined): { readonly observedGeneration?: number } {
  return generation === undefined ? {} : { observedGeneration: generation };
}

function orderVerdict(circle: readonly string[] | undefined): Verdict {
  if (circle === undefined)
    return { status: "True", reason: "Ordered", message: "It is asked where before and after have it." };
  const message = `What it asks for in before or after would lead in a circle, and is left out: ${circle.join(" → ")}.`;
  return { status: "False", reason: "Cycle", message };
}

function healthVerdict(health: HealthState): Verdict {
  switch (health.kind) {
    case "unasked": {
      const message = "Nobody has asked it since it was edited, or since what it failed at is gone.";
      return { status: "Unknown", reason: "NotAsked", message };
    }
    case "healthy":
      return { status: "True", reason: "Answered", message: "It answers, and what it may." };
    case "failing": {
      const { lastError } = health;
      const message = `${lastError.slice(0, 1).toUpperCase()}${lastError.slice(1)}.`;
      return { status: "False", reason: "Failing", message };
    }
  }
}

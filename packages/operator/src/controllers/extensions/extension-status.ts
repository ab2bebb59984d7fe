import { setCondition, type Condition } from "@bunting/kube";
import type { Extension, ExtensionStatus } from "../../api/extension.js";
import type { AskedOrder } from "./cluster-extensions.js";
import type { HealthState } from "./extension-health.js";

type Verdict = Pick<Condition, "status" | "reason" | "message">;

/** The status of an Extension. What this process does not know, such as how it did before, stays as it is. */
export function extensionStatus(
  { metadata, status = {} }: Extension,
  { order, cycles }: AskedOrder,
  health: HealthState,
  nowMs: number,
): ExtensionStatus {
  const { name, generation } = metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const circle = cycles.get(name);
  const place = order.findIndex((each) => each.metadata.name === name) + 1;
  const lastError = health.kind === "unasked" ? undefined : health.lastError;
  const known = lastError ?? status.lastError;
  const before = status.conditions?.filter(({ type }) => type === "Ordered" || type === "Healthy") ?? [];
  const conditions = setCondition(before, { type: "Ordered", ...orderVerdict(circle), ...observed }, nowMs);
  const isKept = health.kind === "unasked" && before.some(({ type }) => type === "Healthy");
  return {
    ...observed,
    order: place,
    ...(circle === undefined ? {} : { cycle: circle.join(" → ") }),
    ...(known === undefined ? {} : { lastError: known }),
    conditions: isKept
      ? conditions
      : setCondition(conditions, { type: "Healthy", ...healthVerdict(health), ...observed }, nowMs),
  };
}

function orderVerdict(circle: readonly string[] | undefined): Verdict {
  if (circle === undefined)
    return { status: "True", reason: "Ordered", message: "It is asked where before and after have it." };
  const message = `What it asks for in before or after would lead in a circle, and is left out: ${circle.join(" → ")}.`;
  return { status: "False", reason: "Cycle", message };
}

function healthVerdict(health: HealthState): Verdict {
  switch (health.kind) {
    case "unasked":
      return { status: "Unknown", reason: "NotAsked", message: "Nobody has asked it yet." };
    case "healthy":
      return { status: "True", reason: "Answered", message: "It answers, and what it may." };
    case "failing": {
      const { lastError } = health;
      const message = `${lastError.slice(0, 1).toUpperCase()}${lastError.slice(1)}.`;
      return { status: "False", reason: "Failing", message };
    }
  }
}

import { isJsonObject, type JsonValue } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";
import type { Resolution } from "../evaluation/resolution.js";
import type { Flag } from "../store/flag.js";
import type { FlagStore } from "../store/flag-store.js";
import type { FlagEvaluator, FlagSelector } from "./backend.js";

/** Until the evaluator is there. */
export function createTestEvaluator(store: FlagStore): FlagEvaluator {
  const evaluate = (flag: Flag, context: Record<string, JsonValue>): Resolution => {
    const base = { variant: undefined, value: undefined, metadata: flag.metadata, errorCode: undefined };
    if (flag.state === "DISABLED") return { ...base, reason: "DISABLED" };
    if (flag.targeting !== undefined) {
      if (!isJsonObject(flag.targeting) || !("var" in flag.targeting))
        return { ...base, reason: "ERROR", errorCode: "PARSE_ERROR" };
      const name = context[String(flag.targeting["var"])];
      if (name !== undefined && name !== null) {
        const variant = String(name);
        if (!flag.variants.has(variant)) return { ...base, reason: "ERROR", errorCode: "GENERAL" };
        return { ...base, reason: "TARGETING_MATCH", variant, value: flag.variants.get(variant) };
      }
    }
    const variant = flag.defaultVariant;
    if (variant === undefined) return { ...base, reason: "FALLBACK" };
    return {
      ...base,
      reason: flag.targeting === undefined ? "STATIC" : "DEFAULT",
      variant,
      value: flag.variants.get(variant),
    };
  };
  return {
    resolve: (key, context, select) => {
      const flag = store.flags().find((one) => one.key === key && (select === undefined || select(one)));
      if (flag === undefined) {
        return {
          reason: "ERROR",
          errorCode: "FLAG_NOT_FOUND",
          variant: undefined,
          value: undefined,
          metadata: {},
        };
      }
      return evaluate(flag, context);
    },
    resolveAll: (context, select) =>
      store
        .flags()
        .filter((flag) => select === undefined || select(flag))
        .map((flag) => ({ flag, resolution: evaluate(flag, context) })),
  };
}

/** Until the selector's grammar is there. */
export function parseTestSelector(text: string): FlagSelector {
  const at = text.indexOf("=");
  const [name, value] = at === -1 ? ["source", text] : [text.slice(0, at), text.slice(at + 1)];
  if (name !== "source" && name !== "flagSetId") {
    throw new AgentError("SELECTOR_INVALID", `unknown selector key ${name}`);
  }
  return { matches: (flag) => flag[name] === value, metadata: { [name]: value } };
}

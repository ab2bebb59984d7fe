import { setCondition, type Condition } from "@bunting/kube";
import type { TextOutcome } from "../../desired/injection.js";
import { sentencesOf } from "../../sources/source-problem.js";

/** What the conditions depend on beside the outcome. */
export interface ConditionFacts {
  /** Of the object. */
  readonly generation: number | undefined;
  readonly nowMs: number;
}

/** The types of the conditions; others are left as they are. */
export const ownConditions: ReadonlySet<string> = new Set(["Accepted", "Compiled"]);

type Verdict = Pick<Condition, "status" | "reason" | "message">;

/** Longer messages of conditions are refused by no API server, but read by nobody. */
export const maxMessageLength = 1_024;

/**
 * What the conditions of an object say after its own text was compiled: `Accepted`, whether all of it is served as it is written, and `Compiled`,
 * whether Pods that name it get anything. The same array if nothing has changed.
 */
export function sourceConditions(
  conditions: readonly Condition[],
  { digest, problems }: { readonly digest: string | undefined; readonly problems: TextOutcome["problems"] },
  { generation, nowMs }: ConditionFacts,
): readonly Condition[] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const [first] = problems;
  const accepted: Verdict =
    first === undefined
      ? { status: "True", reason: "Accepted", message: "Everything in it is served as it is written." }
      : { status: "False", reason: first.reason, message: sentence(sentencesOf(problems)) };
  const last = problems.at(-1);
  const compiled: Verdict =
    digest === undefined
      ? {
          status: "False",
          reason: last?.reason ?? "Unknown",
          message: sentence(last?.message ?? "it is not compiled"),
        }
      : { status: "True", reason: "Compiled", message: `Pods that name it get the entry ${digest}.` };
  const withAccepted = setCondition(
    conditions,
    { type: "Accepted", ...accepted, ...observed } as const,
    nowMs,
  );
  return setCondition(withAccepted, { type: "Compiled", ...compiled, ...observed }, nowMs);
}

/** A message of a condition: with a capital and a full stop, and cut where nobody reads on. */
export function sentence(text: string): string {
  const capital = text.slice(0, 1).toUpperCase() + text.slice(1);
  return capital.length < maxMessageLength ? `${capital}.` : `${capital.slice(0, maxMessageLength - 1)}…`;
}

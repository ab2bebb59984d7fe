import type { Condition, KubeObject } from "@bunting/kube";
import { parseReaders, readersAnnotation } from "@bunting/protocol";
import type { ObjectState } from "./explanation.js";
import type { ObjectFacts } from "./pod-facts.js";

/** What the conditions of an object say to the Pods of a namespace. */
export function objectState(facts: ObjectFacts, podNamespace: string): ObjectState {
  const { kind, namespace, name, answer } = facts;
  const at = { kind, namespace, name };
  if (answer.kind === "missing") return { ...at, state: "missing", sentences: ["It does not exist."] };
  if (answer.kind === "unreadable") return { ...at, state: "unreadable", sentences: [answer.message] };
  const conditions = conditionsOf(answer.found);
  const told = conditions.map(({ type, status, reason, message }) =>
    `${type} is ${status} (${reason}): ${message}`.trim(),
  );
  const share = sharing(facts, answer.found, podNamespace);
  const rollout = stoppedRollout(conditions);
  return {
    ...at,
    state: stateOf(conditions),
    sentences: [...told, ...share],
    ...(rollout === undefined ? {} : { rollout: rollout.reason }),
  };
}

/** The condition of a FeatureFlag whose newest version goes to no further agents before somebody says so. */
export function stoppedRollout(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      type === "RolledOut" && status === "False" && ["Paused", "Halted", "Aborted"].includes(reason),
  );
}

function stateOf(conditions: readonly Condition[]): ObjectState["state"] {
  const ofInterest = conditions.filter(({ type }) => type === "Accepted" || type === "Compiled");
  if (ofInterest.length === 0) return "unjudged";
  return ofInterest.some(({ status }) => status === "False") ? "refused" : "accepted";
}

/** Of FeatureFlags the proxy decides by the identity of each Pod, which nobody knows here. */
function sharing({ kind, namespace }: ObjectFacts, { metadata }: KubeObject, podNamespace: string): string[] {
  if (kind === "FeatureFlag" || namespace === podNamespace) return [];
  const { readers } = parseReaders(metadata.annotations?.[readersAnnotation]);
  return readers?.has(podNamespace) === true
    ? [`It is shared with ${podNamespace}.`]
    : [`Its annotation ${readersAnnotation} does not name ${podNamespace}.`];
}

export function conditionsOf({ status }: KubeObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions ?? [];
}

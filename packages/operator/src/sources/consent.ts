import { parseReaders, readersAnnotation } from "@bunting/protocol";
import { addressKey, type ObjectAddress } from "./object-names.js";
import type { SourceProblem } from "./source-problem.js";

/**
 * What Pods may use of other namespaces:
 *
 * - `consent`: what its owner shares with their namespace, by the annotation `bunting.dev/readers`;
 * - `legacy`: everything, as with the open-feature-operator;
 * - `deny`: nothing.
 */
export type CrossNamespace = "consent" | "legacy" | "deny";

/** An object that Pods of a namespace would use. */
export interface ConsentQuestion {
  readonly kind: "FeatureFlag" | "FeatureFlagSource" | "InProcessConfiguration";
  readonly object: ObjectAddress;
  /** The value of its annotation; undefined if there is none, or no such object. */
  readonly readers: unknown;
  /** Where the Pods are. */
  readonly namespace: string;
  readonly crossNamespace: CrossNamespace;
  /** The namespaces that the operator serves; absent: all. */
  readonly served?: readonly string[] | undefined;
}

export interface ConsentAnswer {
  readonly isAllowed: boolean;
  readonly problem?: SourceProblem;
}

/** Whether Pods of a namespace may use an object. What is allowed only by `legacy` is a problem as well, though the Pods get it. */
export function askConsent(question: ConsentQuestion): ConsentAnswer {
  const { kind, object, readers, namespace, crossNamespace, served } = question;
  const named = `the ${kind} ${addressKey(object)}`;
  if (object.namespace === namespace) return { isAllowed: true };
  if (crossNamespace === "deny") {
    const message = `${named} is of another namespace than the Pods in ${namespace}, and the operator's --cross-namespace=deny allows none`;
    return { isAllowed: false, problem: { reason: "CrossNamespaceDenied", message } };
  }
  if (served?.includes(object.namespace) === false) {
    const message = `${named} is in a namespace that this operator does not serve, so it may not read it: add ${object.namespace} to its --watch-namespaces, or use one of ${served.join(", ")}`;
    return { isAllowed: false, problem: { reason: "NamespaceNotServed", message } };
  }
  if (isSharedWith(readers, namespace)) return { isAllowed: true };
  if (crossNamespace === "legacy") {
    const message = `${named} is used in ${namespace}, with which its owner does not share it: annotate it with ${readersAnnotation}: ${namespace}, because --cross-namespace=legacy alone serves it`;
    return { isAllowed: true, problem: { reason: "CrossNamespaceLegacy", message } };
  }
  const message = `${named} does not exist, or is not shared with ${namespace}: its owner shares it by the annotation ${readersAnnotation}: ${namespace}`;
  return { isAllowed: false, problem: { reason: "NotShared", message } };
}

/** An entry for a ServiceAccount alone shares nothing here: who a Pod will be is not known when its sidecar is compiled. */
function isSharedWith(readers: unknown, namespace: string): boolean {
  return parseReaders(readers).readers?.has(namespace) === true;
}

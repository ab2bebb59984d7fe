import { isNamespaceName, isObjectName, quoted } from "@bunting/protocol";
import type { SourceProblem } from "./source-problem.js";

/** The name of an object, and where it is. */
export interface ObjectAddress {
  readonly namespace: string;
  readonly name: string;
}

/** As stores and work queues have it. */
export function addressKey({ namespace, name }: ObjectAddress): `${string}/${string}` {
  return `${namespace}/${name}`;
}

/** Longer texts are written by nobody; each is a key of an Injection, of which there is one for all Pods of the namespace. */
export const maxTextLength = 1_024;
const maxNames = 16;

/**
 * The objects that the text of an annotation names, in order: `name`, or `namespace/name`, separated by commas. A name without a namespace is
 * one of the Pod's.
 */
export function parseObjectNames(text: string, namespace: string): readonly ObjectAddress[] | SourceProblem {
  const entries = text
    .slice(0, maxTextLength + 1)
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (text.length > maxTextLength || entries.length > maxNames)
    return {
      reason: "TooMany",
      message: `the annotation names more than ${maxNames} objects, or is longer than ${maxTextLength} characters; name fewer`,
    };
  if (entries.length === 0)
    return {
      reason: "NothingNamed",
      message: "the annotation names nothing; write a name, or namespace/name",
    };
  const names: ObjectAddress[] = [];
  for (const entry of entries) {
    const address = parseObjectName(entry, namespace);
    if (address === undefined)
      return {
        reason: "InvalidName",
        message: `the annotation names ${quoted(entry)}, which can't be the name of an object; write a name, or namespace/name`,
      };
    names.push(address);
  }
  return names;
}

/** Reads `name` or `namespace/name`; undefined if Kubernetes would not accept it. */
export function parseObjectName(text: string, namespace: string): ObjectAddress | undefined {
  const slash = text.indexOf("/");
  const address =
    slash < 0 ? { namespace, name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
  return isNamespaceName(address.namespace) && isObjectName(address.name) ? address : undefined;
}

import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import {
  extensionHooks,
  extensionOperations,
  extensionTargets,
  type ExtensionRequest,
} from "./extension-request.js";
import { isExtensionObject, jsonOf } from "./json-of.js";

export type ReadRequest =
  | { readonly kind: "request"; readonly request: ExtensionRequest }
  /** A later version of the protocol asks what this one does not know, and takes 404 for an answer. */
  | { readonly kind: "unknown"; readonly problem: string }
  | { readonly kind: "invalid"; readonly problem: string };

/** Reads the body of a request. Fields that it does not know are those of a later version, and left out. */
export function readRequest(body: string): ReadRequest {
  const value = jsonOf(body);
  if (!isJsonObject(value)) return invalid("the body is no object of JSON");
  const { dryRun, namespace, object, configuration } = value;
  const [uid, hook, target, operation] = ["uid", "hook", "target", "operation"].map((name) =>
    textIn(value, name),
  );
  if (uid === undefined || hook === undefined || target === undefined || operation === undefined)
    return invalid("uid, hook, target and operation are texts");
  if (typeof dryRun !== "boolean") return invalid("dryRun is neither true nor false");
  const namespaceName = isJsonObject(namespace) ? textIn(namespace, "name") : undefined;
  if (!isJsonObject(namespace) || namespaceName === undefined) return invalid("namespace has no name");
  if (!isExtensionObject(object)) return invalid("object has no apiVersion, kind or metadata.name");
  const known = {
    hook: extensionHooks.find((each) => each === hook),
    target: extensionTargets.find((each) => each === target),
    operation: extensionOperations.find((each) => each === operation),
  };
  if (known.hook === undefined) return unknown("hook", hook);
  if (known.target === undefined) return unknown("target", target);
  if (known.operation === undefined) return unknown("operation", operation);
  const { labels, annotations } = namespace;
  return {
    kind: "request",
    request: {
      uid,
      hook: known.hook,
      target: known.target,
      operation: known.operation,
      dryRun,
      namespace: {
        name: namespaceName,
        labels: textsOf(labels),
        annotations: textsOf(annotations),
      },
      object,
      ...(configuration === undefined ? {} : { configuration }),
    },
  };
}

/** Undefined for anything but a text that says something. */
function textIn(value: JsonObject, field: string): string | undefined {
  const text = value[field];
  return typeof text === "string" && text !== "" ? text : undefined;
}

function textsOf(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function invalid(problem: string): ReadRequest {
  return { kind: "invalid", problem: `no request of an operator: ${problem}` };
}

function unknown(field: string, value: string): ReadRequest {
  return { kind: "unknown", problem: `the ${field} ${JSON.stringify(value)} is not known here` };
}

import type { Finding } from "@bunting/featureflags/checks";
import { inlineAnnotations, inlineFlagsOf, isInlineKind } from "@bunting/featureflags/resources";
import { isNamespaceName, type JsonObject } from "@bunting/protocol";
import { didYouMean, quoted } from "@bunting/runtime/options";
import { addressIn } from "../operator/object-address.js";
import { podAnnotations } from "../operator/operator-names.js";

const { enabled, source, flag, inProcess, allowKubernetesSync, injection } = podAnnotations;
const { order, orderResource, orderNamespace } = podAnnotations;
const known: readonly string[] = Object.values(podAnnotations);
const inlineNames: readonly string[] = [inlineAnnotations.flags, inlineAnnotations.older];
const ours = /^(?:(?:openfeature|bunting)\.dev|openfeature\.(?:io|agent))\//;

/**
 * Findings about the annotations of a Pod, or of the template of one. Paths begin at the annotations.
 *
 * @param isNamed something else names flags for it
 */
export function checkAnnotations(annotations: JsonObject, isNamed = false): readonly Finding[] {
  const keys = Object.keys(annotations).filter((key) => ours.test(key));
  return [
    ...keys.flatMap((key) => checkValue(key, annotations[key])),
    ...(isNamed ? [] : checkTogether(annotations)),
  ];
}

/** True for a workload that has flags of its own. */
export function hasInlineFlags(annotations: JsonObject, kind: string): boolean {
  return isInlineKind(kind) && inlineFlagsOf(annotations) !== undefined;
}

/** Findings about the annotations of a workload, of which nobody reads any but its own flags: those of its template count. */
export function checkWorkloadAnnotations(annotations: JsonObject, kind: string): readonly Finding[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith("openfeature.dev/"))
    .filter((key) => !(isInlineKind(kind) && inlineNames.includes(key)))
    .map((key) => {
      const message = `it is an annotation of the ${kind}, and only those of its Pods count: move it to the metadata of the template`;
      return finding("warning", message, key);
    });
}

function checkValue(key: string, value: unknown): readonly Finding[] {
  if (typeof value !== "string") {
    const text = JSON.stringify(value);
    return [
      finding("error", `${text} is no text, and the API server refuses it: write ${quoted(text)}`, key),
    ];
  }
  if (inlineNames.includes(key)) {
    const message = "flags are read from the metadata of a workload, not from its Pods: move it there";
    return [finding("warning", message, key)];
  }
  if (!known.includes(key)) {
    const message = `nobody reads the annotation ${quoted(key)}${didYouMean(key, known)}`;
    return [finding("warning", message, key)];
  }
  switch (key) {
    case enabled:
    case allowKubernetesSync:
      return isSwitch(value)
        ? []
        : [finding("warning", `only "true" has an effect, and ${quoted(value)} counts as "false"`, key)];
    case injection:
      return value === "required" ? [] : [finding("warning", `only "required" has an effect`, key)];
    case source:
    case flag:
    case inProcess:
      return checkNames(key, value);
    case order:
    case orderResource:
      return isName(value) ? [] : [notAName(key, value)];
    case orderNamespace:
      return isNamespaceName(value)
        ? []
        : [finding("error", `${quoted(value)} can't be the name of a namespace`, key)];
    default:
      return [finding("warning", "the operator writes it, and takes what others write for its own", key)];
  }
}

function checkNames(key: string, text: string): readonly Finding[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 0) return [finding("error", "it names nothing: write a name, or namespace/name", key)];
  return names.filter((name) => !isName(name)).map((name) => notAName(key, name));
}

function notAName(key: string, text: string): Finding {
  const message = `${quoted(text)} can't be the name of an object: write a name, or namespace/name`;
  return finding("error", message, key);
}

function checkTogether(annotations: JsonObject): readonly Finding[] {
  const named = [source, flag, order, orderResource, inProcess].find((key) => annotations[key] !== undefined);
  // A value that is no text is a finding already.
  const isAsked = ["true", true].includes(annotations[enabled] as string | boolean);
  if (isAsked && named === undefined)
    return [finding("warning", `the Pod asks for flags, and names none: add ${source}`, enabled)];
  if (!isAsked && named !== undefined && annotations[enabled] === undefined)
    return [finding("warning", `it has no effect without ${enabled}: "true"`, named)];
  return [];
}

function isName(text: string): boolean {
  return addressIn(text, "default") !== undefined;
}

function isSwitch(value: string): boolean {
  return value === "true" || value === "false";
}

function finding(severity: Finding["severity"], message: string, key: string): Finding {
  return { severity, kind: "annotation", message, path: [key] };
}

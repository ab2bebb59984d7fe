import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { ExtensionHook, ExtensionObject } from "./extension-request.js";
import { isExtensionObject, isTexts, jsonOf } from "./json-of.js";
import { pathCharacters } from "./path-characters.js";

/** What an extension answered. `failed` is no answer: what follows is for the failurePolicy of the Extension to say. */
export type ExtensionAnswer =
  | { readonly kind: "unchanged" }
  | { readonly kind: "replaced"; readonly object: ExtensionObject }
  | { readonly kind: "commented"; readonly findings: readonly ExtensionFinding[] }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/** A comment of a `lint` hook. */
export interface ExtensionFinding {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** The place in the object that it is about, as a JSON pointer: `/spec/flagSpec/flags/banner`. */
  readonly field?: string;
}

/** A response of HTTP as it was read, within `maxExtensionBytes`. */
export interface ExtensionResponse {
  readonly status: number;
  /** The header Content-Type; empty if there was none. */
  readonly contentType: string;
  readonly body: string;
}

/** Of a reason or of a finding's message, in characters: they become conditions, events and warnings. */
export const maxReasonLength = 500;
/** Of one answer; see `mostTelling`. */
export const maxExtensionFindings = 100;
/** Of the paths to all fields of an object together: what has changed is named by them. */
const maxPathCharacters = 16 * 1024 * 1024;

/** The extension has nothing to say. FiaaS' hooks say so by 404, for objects that they do not know. */
const unchanging = new Set([204, 304, 404]);

/**
 * Statuses from 400 to 499 that are about the call rather than about the object, given by what stands in front of an extension or by its framework.
 * All others of that range refuse the object.
 */
const aboutTheCall = new Set([401, 405, 407, 408, 411, 413, 415, 421, 425, 426, 429, 431]);

/** Reads a response as the protocol of extensions has it. */
export function readAnswer(hook: ExtensionHook, response: ExtensionResponse): ExtensionAnswer {
  const { status } = response;
  if (unchanging.has(status)) return { kind: "unchanged" };
  if (status === 200) return hook === "lint" ? readFindings(response) : readObject(response);
  const reason = reasonOf(response);
  const isRefusal = status >= 400 && status < 500 && !aboutTheCall.has(status);
  if (isRefusal) return { kind: "refused", reason: reason ?? `it answered ${status}, without a reason` };
  return failed(`it answered ${status}${reason === undefined ? "" : `: ${reason}`}`);
}

function readObject({ body }: ExtensionResponse): ExtensionAnswer {
  const object = jsonOf(body);
  if (object === undefined) return failed("it answered 200 with what is no JSON");
  if (!isExtensionObject(object))
    return failed("it answered 200 with what is no object: apiVersion, kind and metadata.name are texts");
  if (pathCharacters(object, maxPathCharacters) > maxPathCharacters)
    return failed("it answered 200 with an object that has too many fields with too long names");
  const field = (["labels", "annotations"] as const).find((each) => {
    const texts = object.metadata[each];
    return texts !== undefined && !isTexts(texts);
  });
  return field === undefined
    ? { kind: "replaced", object }
    : failed(`it answered 200 with an object whose ${field} are no texts`);
}

function readFindings({ body }: ExtensionResponse): ExtensionAnswer {
  const value = jsonOf(body);
  const findings = isJsonObject(value) ? value["findings"] : undefined;
  if (!Array.isArray(findings))
    return failed('it answered 200 with what is no list of findings: {"findings": [...]}');
  const read: ExtensionFinding[] = [];
  for (const each of mostTelling(findings as readonly JsonValue[])) {
    const finding = readFinding(each);
    if (finding === undefined)
      return failed('a finding has a message, and the severity "error" or "warning"; one has not');
    read.push(finding);
  }
  return read.length === 0 ? { kind: "unchanged" } : { kind: "commented", findings: read };
}

/** The findings that are kept of more than people read: errors, which refuse a FeatureFlag, before warnings. */
export function mostTelling<Finding>(findings: readonly Finding[]): readonly Finding[] {
  if (findings.length <= maxExtensionFindings) return findings;
  const isError = (finding: unknown): boolean =>
    (finding as { readonly severity?: unknown } | null)?.severity === "error";
  const [errors, others] = [findings.filter(isError), findings.filter((finding) => !isError(finding))];
  return [...errors, ...others].slice(0, maxExtensionFindings);
}

function readFinding(value: JsonValue): ExtensionFinding | undefined {
  if (!isJsonObject(value)) return undefined;
  const { severity, message, field } = value;
  if (severity !== "error" && severity !== "warning") return undefined;
  const text = typeof message === "string" ? sentence(message) : undefined;
  if (text === undefined) return undefined;
  const isPointer = typeof field === "string" && field.length <= maxReasonLength && /^(\/|$)/.test(field);
  return { severity, message: text, ...(isPointer ? { field } : {}) };
}

/** A text, or the `message` of an object of JSON. A page of HTML is none: it is not the extension's. */
function reasonOf({ contentType, body }: ExtensionResponse): string | undefined {
  const [type = ""] = contentType.toLowerCase().split(";");
  if (/^application\/(.+\+)?json$/.test(type.trim())) {
    const value = jsonOf(body);
    const message = isJsonObject(value) ? value["message"] : value;
    return typeof message === "string" ? sentence(message) : undefined;
  }
  return ["", "text/plain"].includes(type.trim()) ? sentence(body) : undefined;
}

/** One line without control characters and halves of characters, and no longer than people read. */
function sentence(text: string): string | undefined {
  const line = text
    .slice(0, 4 * maxReasonLength)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  if (line === "") return undefined;
  // By characters: half of one is no text.
  const characters = Array.from(line);
  return characters.length > maxReasonLength ? `${characters.slice(0, maxReasonLength - 1).join("")}…` : line;
}

function failed(reason: string): ExtensionAnswer {
  return { kind: "failed", reason };
}

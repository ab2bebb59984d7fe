import { compareUtf8, isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { compareFlagSetIds, parseFlag, type Flag, type Metadata } from "@bunting/evaluation";

/** The plain model of a store: it parses everything every time, and compares nothing. The oracle of flag-store.test.ts. */
export class StoreModel {
  /** For each source, its flags by what names them in their document; undefined for one refused without a value from before. */
  readonly #sources: Map<string, Flag | undefined>[];

  constructor(sources: number) {
    this.#sources = Array.from({ length: sources }, () => new Map<string, Flag | undefined>());
  }

  replace(sourceIndex: number, text: string): { readonly rejected: string[] } | "refused" {
    const document = parse(text);
    if (!isJsonObject(document)) return "refused";
    const { flags, metadata = null, $evaluators: evaluators = null } = document;
    const hasFlags = isJsonObject(flags) || Array.isArray(flags);
    if (!hasFlags || !isObjectOrNull(metadata) || !isObjectOrNull(evaluators)) return "refused";
    const set = {
      metadata: primitives(metadata ?? {}),
      evaluators: evaluators ?? {},
      source: "proxy:8015",
      sourceIndex,
    };
    const definitions = isJsonObject(flags)
      ? new Map(Object.entries(flags).map(([key, value]) => [key, { key, value }]))
      : listed(flags as readonly JsonValue[], set.metadata);
    if (definitions === undefined) return "refused";
    const before = this.#sources[sourceIndex];
    const after = new Map<string, Flag | undefined>();
    const rejected: string[] = [];
    for (const [id, { key, value }] of definitions) {
      try {
        after.set(id, parseFlag(key, value, set));
      } catch {
        rejected.push(key);
        after.set(id, before?.get(id));
      }
    }
    this.#sources[sourceIndex] = after;
    return { rejected: rejected.sort() };
  }

  flags(): Flag[] {
    const served = new Map<string, Flag>();
    for (const source of this.#sources) {
      for (const flag of source.values())
        if (flag !== undefined) served.set(`${flag.flagSetId}\0${flag.key}`, flag);
    }
    return [...served.values()].sort(
      (a, b) => compareFlagSetIds(a.flagSetId, b.flagSetId) || compareUtf8(a.key, b.key),
    );
  }
}

/** A document as a list of flags, to be written in many ways. */
export interface TestDocument {
  readonly flags: readonly (readonly [key: string, definition: JsonValue])[];
  readonly metadata: JsonValue | undefined;
  readonly evaluators: JsonValue | undefined;
}

export interface WritingStyle {
  readonly form: "map" | "list";
  readonly order: "sorted" | "as is" | "reversed";
  /** White space between any two tokens. */
  readonly indent: string;
  /** Writes letters of keys as \u escapes. */
  readonly escapes: boolean;
  readonly metadataFirst: boolean;
  /** `flags` stands there twice, the first time with other flags. */
  readonly repeatsFlags: boolean;
}

export function writeDocument(document: TestDocument, style: WritingStyle): Buffer {
  const flags = [...document.flags];
  if (style.order === "sorted") flags.sort(([a], [b]) => compareUtf8(a, b));
  if (style.order === "reversed") flags.reverse();
  const gap = style.indent;
  const string = (text: string): string =>
    style.escapes
      ? JSON.stringify(text).replace(/(?<!\\)[a-f]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
      : JSON.stringify(text);
  const member = (key: string, value: string): string => `${string(key)}${gap}:${gap}${value}`;
  const join = (open: string, items: readonly string[], close: string): string =>
    `${open}${gap}${items.join(`${gap},${gap}`)}${gap}${close}`;
  const value = (json: JsonValue): string => JSON.stringify(json, null, gap === "" ? 0 : 2);
  const written =
    style.form === "map"
      ? join(
          "{",
          flags.map(([key, definition]) => member(key, value(definition))),
          "}",
        )
      : join(
          "[",
          flags.map(([key, item]) => value(isJsonObject(item) ? { key, ...item } : item)),
          "]",
        );
  const metadata = document.metadata === undefined ? [] : [member("metadata", value(document.metadata))];
  const evaluators =
    document.evaluators === undefined ? [] : [member("$evaluators", value(document.evaluators))];
  const parts = style.metadataFirst
    ? [...metadata, member("flags", written), ...evaluators]
    : [member("flags", written), ...metadata, ...evaluators];
  if (style.repeatsFlags) parts.unshift(member("flags", '{"a":{"state":"ENABLED"},"z":{}}'));
  return Buffer.from(`${gap}${join("{", parts, "}")}${gap}`);
}

/** Undefined if one has no key. */
function listed(
  flags: readonly JsonValue[],
  set: Metadata,
): Map<string, { key: string; value: JsonValue }> | undefined {
  const definitions = new Map<string, { key: string; value: JsonValue }>();
  for (const value of flags) {
    const key = isJsonObject(value) ? value["key"] : undefined;
    if (!isJsonObject(value) || typeof key !== "string") return undefined;
    const { metadata } = value;
    const own = isJsonObject(metadata) && Object.hasOwn(metadata, "flagSetId") ? metadata : set;
    const flagSetId = typeof own["flagSetId"] === "string" ? own["flagSetId"] : "";
    definitions.set(`${flagSetId}\0${key}`, { key, value });
  }
  return definitions;
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function isObjectOrNull(value: JsonValue): value is JsonObject | null {
  return value === null || isJsonObject(value);
}

function primitives(metadata: JsonObject): Metadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value)),
  ) as Metadata;
}

import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Scalar,
  visit,
  type Alias,
  type Document,
  type YAMLMap,
  Schema,
  type ScalarTag,
} from "yaml";
import { cut } from "@bunting/runtime/options";
import type { TextPosition, TextWarning } from "./parsed-text.js";

/** Of a scalar in a message, in characters. */
const maxShown = 100;

interface Entry {
  readonly key: unknown;
  readonly value: unknown;
}

/** Finds where in a document the key or item at a path begins, or the nearest around it. What it needs is indexed on first use. */
export function yamlPlaces(document: Document.Parsed): (path: readonly string[]) => number {
  const entries = new Map<YAMLMap, ReadonlyMap<unknown, Entry>>();
  let targets: ReadonlyMap<Alias, unknown> | undefined;
  return (path) => {
    let node: unknown = document.contents;
    let offset = startOf(node);
    for (const step of path) {
      if (isAlias(node)) node = (targets ??= targetsOf(document)).get(node);
      if (isMap(node)) {
        let ofNode = entries.get(node);
        if (ofNode === undefined) entries.set(node, (ofNode = entriesByKey(node)));
        const entry = ofNode.get(step);
        if (entry === undefined) break;
        offset = startOf(entry.key);
        node = entry.value;
      } else if (isSeq(node)) {
        const item: unknown = node.items[Number(step)];
        if (item === undefined) break;
        offset = startOf(item);
        node = item;
      } else break;
    }
    return offset;
  };
}

function entriesByKey({ items }: YAMLMap): ReadonlyMap<unknown, Entry> {
  return new Map(items.map((entry) => [isScalar(entry.key) ? entry.key.value : entry.key, entry]));
}

/** What each alias stands for: the last node before it that has the anchor. The library searches the document for each alias. */
function targetsOf(document: Document.Parsed): ReadonlyMap<Alias, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<Alias, unknown>();
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

export function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** A warning for every plain scalar, keys too, that YAML 1.1 reads otherwise, and those of the parser itself. */
export function warningsOf(
  document: Document.Parsed,
  positionOf: (offset: number) => TextPosition,
): TextWarning[] {
  const warnings: TextWarning[] = document.warnings.map((warning) => ({
    kind: "other",
    ...positionOf(warning.pos[0]),
    message: cut(warning.message),
  }));
  // Most scalars of a document stand in it many times over.
  const read = new Map<string, unknown>();
  const readOnce = (source: string): unknown => {
    if (!read.has(source)) read.set(source, readAsYaml11(source));
    return read.get(source);
  };
  visit(document, {
    Scalar: (place, { type, tag, source, value, range }) => {
      if (type !== Scalar.PLAIN || tag !== undefined || source === undefined || typeof value === "symbol")
        return;
      const there = readOnce(source);
      const isSame = place === "key" ? String(there) === value : there === value;
      if (isSame) return;
      warnings.push({
        kind: "yaml_1_1",
        ...positionOf(range?.[0] ?? 0),
        message: `${cut(source, maxShown)} is ${describe(value)} here, but YAML 1.1, which kubectl reads, makes ${describe(there)} of it: put it in quotes, or write it so that both agree`,
      });
    },
  });
  return warnings;
}

function describe(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(cut(value, maxShown))}`;
  if (value instanceof Date) return `the time ${value.toISOString()}`;
  return String(value);
}

/** What YAML 1.1 makes of a plain (unquoted) scalar: the same string if it is text there. */
function readAsYaml11(source: string): unknown {
  const tag = plainTags.find(({ test }) => test?.test(source) === true);
  if (tag === undefined) return source;
  const value: unknown = tag.resolve(source, ignoreError, {});
  return isScalarNode(value) ? value.value : value;
}

/** The tags that a scalar gets by its looks alone, first match first. They are the library's own, so that none is forgotten. */
const plainTags: readonly ScalarTag[] = new Schema({ schema: "yaml-1.1" }).tags.filter(
  (tag): tag is ScalarTag => tag.collection === undefined && tag.default === true && "test" in tag,
);

function ignoreError(): void {
  // Invalid numbers are strings.
}

function isScalarNode(value: unknown): value is { value: unknown } {
  return typeof value === "object" && value !== null && "value" in value;
}

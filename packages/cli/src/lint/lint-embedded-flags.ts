import { isFlagFileName } from "@bunting/featureflags/manifests";
import { inlineFileName, inlineFlagsOf, isInlineKind } from "@bunting/featureflags/resources";
import { readText, type TextDocument } from "@bunting/files/text";
import type { JsonObject } from "@bunting/protocol";
import { objectAt, objectsIn, type PlacedObject } from "../input/objects-in.js";
import type { FileFinding } from "./file-finding.js";

/** Flags that are a text within an object, called as a file would be. */
interface EmbeddedFlags {
  readonly key: string;
  readonly bytes: Buffer;
  /** True if the operator makes a FeatureFlag of them. */
  readonly isAnnotation: boolean;
}

/** Counts and findings of such flags. */
interface LintedFlags {
  readonly documents: number;
  readonly flags: number;
  readonly findings: readonly FileFinding[];
}

/**
 * Checks the flags that objects in a text have as texts: files in ConfigMaps, which agents have mounted, and flags that workloads have of their own, in
 * an annotation. Findings are at their lines in the text.
 */
export async function lintEmbeddedFlags(
  path: string,
  text: string,
  lint: (flags: EmbeddedFlags) => Promise<LintedFlags>,
): Promise<LintedFlags> {
  const sum = { documents: 0, flags: 0, findings: [] as FileFinding[] };
  if (!/\bConfigMap\b|\/inline-flags\b/.test(text)) return sum;
  const read = await readText(path, Buffer.from(text));
  if (read.kind === "error") return sum;
  for (const document of read.documents) {
    for (const { at, key, content, isAnnotation } of objectsIn(document.value).flatMap(textsIn)) {
      const linted = await lint({ key, bytes: Buffer.from(content), isAnnotation });
      const place = placeIn(document, at, text);
      sum.documents += linted.documents;
      sum.flags += linted.flags;
      for (const finding of linted.findings) {
        // The operator reads them, which knows no YAML 1.1; to kubectl an annotation is a text.
        if (isAnnotation && finding.kind === "yaml-1.1") continue;
        sum.findings.push({ ...finding, ...place(finding) });
      }
    }
  }
  return sum;
}

interface FoundText {
  readonly at: readonly string[];
  readonly key: string;
  readonly content: string;
  readonly isAnnotation: boolean;
}

function textsIn({ at, value }: PlacedObject): readonly FoundText[] {
  const { kind } = value;
  if (kind === "ConfigMap") return filesIn(value, at);
  return typeof kind === "string" && isInlineKind(kind) ? inlineIn(value, at) : [];
}

function filesIn(value: JsonObject, path: readonly string[]): readonly FoundText[] {
  return Object.entries(objectAt(value, "data") ?? {}).flatMap(([key, content]) =>
    typeof content === "string" && isFlagFileName(key)
      ? [{ at: [...path, "data", key], key, content, isAnnotation: false }]
      : [],
  );
}

function inlineIn(value: JsonObject, path: readonly string[]): readonly FoundText[] {
  const { annotation = "", text: content } = inlineFlagsOf(objectAt(value, "metadata", "annotations")) ?? {};
  if (typeof content !== "string") return [];
  const at = [...path, "metadata", "annotations", annotation];
  return [{ at, key: inlineFileName(content), content, isAnnotation: true }];
}

type Place = Pick<FileFinding, "line" | "column">;

/** A block of YAML begins on the line after its key, and is indented; in any other form only the key has a place. */
function placeIn(document: TextDocument, path: readonly string[], text: string): (inner: Place) => Place {
  const key = document.positionOf(path);
  const lines = text.split("\n");
  if (!/:\s*(?:[&!]\S+\s+)*[|][-+0-9]*\s*(?:#.*)?$/.test(lines[key.line - 1] ?? "")) return () => key;
  const first = lines.slice(key.line).find((line) => line.trim() !== "") ?? "";
  const indent = first.length - first.trimStart().length;
  return ({ line, column }) => ({ line: key.line + line, column: indent + column });
}

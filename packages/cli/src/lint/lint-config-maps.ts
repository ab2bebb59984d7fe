import { isFlagFileName } from "@bunting/featureflags/manifests";
import { readText, type TextDocument } from "@bunting/files/text";
import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { FileFinding } from "./file-finding.js";

/** A file of flags that is an entry of a ConfigMap. */
interface ConfigMapEntry {
  readonly key: string;
  readonly bytes: Buffer;
}

/** Counts and findings of an entry. */
interface LintedEntry {
  readonly documents: number;
  readonly flags: number;
  readonly findings: readonly FileFinding[];
}

/** Checks the files of flags in the ConfigMaps of a text: agents have them mounted. Findings are at their lines in the text. */
export async function lintConfigMaps(
  path: string,
  text: string,
  lint: (entry: ConfigMapEntry) => Promise<LintedEntry>,
): Promise<LintedEntry> {
  const sum = { documents: 0, flags: 0, findings: [] as FileFinding[] };
  if (!/\bConfigMap\b/.test(text)) return sum;
  const read = await readText(path, Buffer.from(text));
  if (read.kind === "error") return sum;
  for (const document of read.documents) {
    for (const { at, value } of configMapsIn(document.value, [])) {
      for (const [key, content] of Object.entries(isJsonObject(value) ? value : {})) {
        if (typeof content !== "string" || !isFlagFileName(key)) continue;
        const linted = await lint({ key, bytes: Buffer.from(content) });
        const place = placeIn(document, [...at, key], text);
        sum.documents += linted.documents;
        sum.flags += linted.flags;
        for (const finding of linted.findings) sum.findings.push({ ...finding, ...place(finding) });
      }
    }
  }
  return sum;
}

/** The `data` of each ConfigMap, also of those in a List. */
function configMapsIn(
  value: JsonValue,
  path: readonly string[],
): readonly { readonly at: readonly string[]; readonly value: JsonValue }[] {
  if (!isJsonObject(value)) return [];
  const { kind, data = null, items } = value;
  if (kind === "ConfigMap") return [{ at: [...path, "data"], value: data }];
  if (!Array.isArray(items)) return [];
  return (items as readonly JsonValue[]).flatMap((item, index) =>
    configMapsIn(item, [...path, "items", String(index)]),
  );
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

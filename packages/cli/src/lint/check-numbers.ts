import type { ManifestFlags } from "@bunting/featureflags/manifests";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import type { FileFinding } from "./file-finding.js";

type NumberFinding = Pick<FileFinding, "line" | "column" | "severity" | "kind" | "message">;

/** A number whose text is not what JSON writes again, in a way that matters: `1.10`, or more digits than a number has. */
const written = /^\s*(-?\d+(?:\.\d+)?)\s*(?:[,}\]#].*)?$/;

/** Numbers in variants that are not the text that stands there: versions without quotes, and identifiers of many digits. */
export function checkNumbers(flags: ManifestFlags, lines: readonly string[]): readonly NumberFinding[] {
  const findings: NumberFinding[] = [];
  const visit = (value: JsonValue, path: readonly string[]): void => {
    if (typeof value === "number") {
      const { line, column } = flags.positionOf(path);
      const message = problemOf(value, textBehind(lines[line - 1] ?? "", column, path.at(-1) ?? ""));
      if (message !== undefined)
        findings.push({ line, column, severity: "warning", kind: "number", message });
    } else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value as JsonObject)) visit(member, [...path, name]);
    }
  };
  for (const [key, flag] of Object.entries(flags.document.flags)) {
    if (isJsonObject(flag)) visit(flag["variants"] ?? null, ["flags", key, "variants"]);
  }
  return findings;
}

/** What stands behind a key or, in a list, at the place itself. */
function textBehind(line: string, column: number, key: string): string | undefined {
  const text = line.slice(column - 1);
  const name = [JSON.stringify(key), `'${key}'`, key].find((one) => text.startsWith(one)) ?? "";
  return written.exec(text.slice(name.length).replace(/^\s*:/, ""))?.[1];
}

function problemOf(value: number, text: string | undefined): string | undefined {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return `${text ?? value} has more digits than a number keeps, and is served as ${value}: put it in quotes`;
  if (text === undefined || !/\.\d*0$/.test(text)) return undefined;
  return `${text} is a number and is served as ${value}: put it in quotes if it is a version (${quoted(text)})`;
}

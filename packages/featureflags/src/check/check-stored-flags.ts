import { isJsonObject, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import type { Finding } from "./finding.js";

/** What API servers ask of each flag of a FeatureFlag, and agents and a proxy with a directory do not. */
const needed = ["state", "variants", "defaultVariant"];

/** Findings about flags that no API server stores in a FeatureFlag, for what they lack. Paths begin at the document. */
export function checkStoredFlags(written: JsonValue): readonly Finding[] {
  const flags = isJsonObject(written) ? (written["flags"] ?? null) : null;
  if (!isJsonObject(flags)) return [];
  return Object.entries(flags).flatMap(([key, flag]) => {
    if (!isJsonObject(flag)) return [];
    const missing = needed.filter((field) => (flag[field] ?? null) === null);
    return missing.map((field): Finding => {
      const message = `flag ${quoted(key)} has no ${quoted(field)}, and no API server stores a FeatureFlag with it`;
      return { severity: "warning", kind: "not-stored", flag: key, message, path: ["flags", key, field] };
    });
  });
}

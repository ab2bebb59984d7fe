import type { Finding } from "@bunting/featureflags/checks";
import type { ManifestFlags } from "@bunting/featureflags/manifests";
import { isJsonObject, type JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";

/** What API servers ask of each flag, and a proxy with a directory does not. Without `state`, a flag of any file has a finding. */
const needed = ["variants", "defaultVariant"];

/** Findings about the flags of a FeatureFlag that no API server stores as they are. Paths begin at the document. */
export function checkStored({ path, written }: ManifestFlags): readonly Finding[] {
  const flags: JsonValue = isJsonObject(written) ? (written["flags"] ?? null) : null;
  // A flagd file is the document itself.
  if (path.length === 0 || !isJsonObject(flags)) return [];
  return Object.entries(flags).flatMap(([key, flag]) => {
    if (!isJsonObject(flag)) return [];
    const missing = needed.filter((field) => (flag[field] ?? null) === null);
    return missing.map((field): Finding => {
      const message = `flag ${quoted(key)} has no ${quoted(field)}, and no API server stores the FeatureFlag`;
      return { severity: "warning", kind: "not-stored", flag: key, message, path: ["flags", key, field] };
    });
  });
}

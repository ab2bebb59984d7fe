import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import type { Colours } from "../terminal/colours.js";
import { plural } from "../terminal/plural.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { FlagDifference } from "./compare-documents.js";

const maxTextCharacters = 100;

/** Lines that show what became of flags. */
export function differenceLines(differences: readonly FlagDifference[], colours: Colours): readonly string[] {
  return differences.flatMap(({ key: given, kind, changes, after }) => {
    const key = printableLine(given);
    if (kind === "removed") return [colours.red(`- ${key}`)];
    if (kind === "added") return [`${colours.green(`+ ${key}`)}: ${summary(after ?? {})}`];
    const parts = changes.map(({ path, before, after: now }) => {
      const old = before === undefined ? undefined : colours.red(show(before));
      const next = now === undefined ? undefined : colours.green(show(now));
      if (old === undefined) return `    ${path}: added ${next ?? ""}`;
      return `    ${path}: ${next === undefined ? `removed ${old}` : `${old} → ${next}`}`;
    });
    return [colours.yellow(`~ ${key}`), ...parts];
  });
}

function summary({ state, defaultVariant, variants, targeting, refusedByAgents }: JsonObject): string {
  if (refusedByAgents !== undefined) return `agents refuse it: ${show(refusedByAgents)}`;
  return [
    state === "DISABLED" ? "DISABLED" : "ENABLED",
    plural(isJsonObject(variants) ? Object.keys(variants).length : 0, "variant"),
    defaultVariant === undefined ? "no default variant" : `default ${show(defaultVariant)}`,
    ...(targeting === undefined ? [] : ["with a rule"]),
  ].join(", ");
}

function show(value: JsonValue): string {
  return cut(JSON.stringify(value), maxTextCharacters);
}

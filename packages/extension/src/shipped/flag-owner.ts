import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { ExtensionFinding } from "../extension-answer.js";
import { pointerStep } from "../changed-fields.js";
import type { LintHook } from "../hooks.js";

export interface FlagOwnerOptions {
  /** The metadata that names the owner. Default: `owner`. */
  readonly key?: string;
  /** Default: `error`, which refuses the FeatureFlag. */
  readonly severity?: ExtensionFinding["severity"];
  /** Owners that there are. Default: any text. */
  readonly owners?: readonly string[] | undefined;
}

/**
 * Wants an owner on each flag: in the metadata of the flag, of its FeatureFlag, or as `{"owner": "..."}` in the configuration of the FeatureFlag or its
 * namespace.
 */
export function flagOwner(options: FlagOwnerOptions = {}): LintHook {
  const { key = "owner", severity = "error", owners } = options;
  return ({ object, configuration }) => {
    const flagSpec = objectIn(objectIn(object, "spec"), "flagSpec");
    const metadata = objectIn(flagSpec, "metadata");
    const common = metadata[key] ?? (isJsonObject(configuration) ? configuration[key] : undefined);
    return Object.entries(objectIn(flagSpec, "flags")).flatMap(
      ([name, flag]): readonly ExtensionFinding[] => {
        const owner = (isJsonObject(flag) ? objectIn(flag, "metadata")[key] : undefined) ?? common;
        const problem = problemOf(owner, name, { key, owners });
        return problem === undefined
          ? []
          : [{ severity, message: problem, field: `/spec/flagSpec/flags/${pointerStep(name)}` }];
      },
    );
  };
}

function problemOf(
  owner: JsonValue | undefined,
  flag: string,
  { key, owners }: Pick<FlagOwnerOptions, "key" | "owners">,
): string | undefined {
  if (typeof owner !== "string" || owner.trim() === "")
    return `the flag "${flag}" has no owner: write the team that decides on it into its metadata, as ${key}`;
  if (owners === undefined || owners.includes(owner)) return undefined;
  return `the flag "${flag}" has the owner "${owner}", which is none of ${owners.join(", ")}`;
}

function objectIn(value: JsonObject, field: string): JsonObject {
  const inner = value[field];
  return isJsonObject(inner) ? inner : {};
}

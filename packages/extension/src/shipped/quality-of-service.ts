import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { PreCreateHook } from "../hooks.js";
import { mapContainers } from "../pod-parts.js";

/** Requests and limits of containers. A value of null takes the one that there is away. */
export interface QualityLevel {
  readonly requests?: Readonly<Record<string, string | number | null>>;
  readonly limits?: Readonly<Record<string, string | number | null>>;
}

/**
 * Requests and limits by the end of the namespace's name: `{"-dev": {...}, "-pro": {...}}`. Of several that fit, the longest counts; a namespace that none
 * fits is left alone. What a level does not name stays as it is. Throws if a level is wrong.
 */
export function qualityOfService(levels: Readonly<Record<string, QualityLevel>>): PreCreateHook {
  checkLevels(levels as unknown as JsonValue);
  const bySuffix = Object.entries(levels).sort(([a], [b]) => b.length - a.length);
  return ({ object, namespace }) => {
    const [, level] = bySuffix.find(([suffix]) => namespace.name.endsWith(suffix)) ?? [];
    if (level === undefined) return undefined;
    return mapContainers(object, (container) => {
      const { resources: given, ...rest } = container;
      const resources = resourcesAt(level, isJsonObject(given) ? given : {});
      return given === undefined && Object.keys(resources).length === 0 ? container : { ...rest, resources };
    });
  };
}

function resourcesAt(level: QualityLevel, resources: JsonObject): JsonObject {
  const { requests, limits, ...others } = resources;
  return {
    ...others,
    ...present("requests", { ...objectOr(requests), ...level.requests }),
    ...present("limits", { ...objectOr(limits), ...level.limits }),
  };
}

/** Without those that are null, and without the field if none is left. */
function present(field: "requests" | "limits", quantities: JsonObject): JsonObject {
  const kept = Object.entries(quantities).filter(([, quantity]) => quantity !== null);
  return kept.length === 0 ? {} : { [field]: Object.fromEntries(kept) };
}

function objectOr(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function checkLevels(levels: JsonValue): void {
  if (!isJsonObject(levels)) throw new TypeError('levels are an object: {"-dev": {...}}');
  for (const [suffix, level] of Object.entries(levels)) {
    const at = `the level of ${JSON.stringify(suffix)}`;
    if (!isJsonObject(level)) throw new TypeError(`${at} is no object`);
    for (const [field, quantities] of Object.entries(level)) {
      if (field !== "requests" && field !== "limits")
        throw new TypeError(`${at} has ${field}, which is neither requests nor limits`);
      if (!isJsonObject(quantities) || !Object.values(quantities).every(isQuantity))
        throw new TypeError(`${at}: ${field} are an object of quantities, such as {"cpu": "100m"}`);
    }
  }
}

/** As Kubernetes writes quantities, without those that round to nothing. */
function isQuantity(value: JsonValue): boolean {
  if (value === null) return true;
  if (typeof value === "number") return Number.isInteger(value) && value >= 0;
  return typeof value === "string" && /^\d+(\.\d+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/.test(value);
}

import { isSameJson } from "@bunting/evaluation";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/** A part of a value that another value has otherwise; `before` or `after` is absent where the part is. */
export interface JsonChange {
  /** As people write it: `targeting.if[1]`. */
  readonly path: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
}

/** The smallest parts in which two values differ. */
export function jsonChanges(before: JsonValue, after: JsonValue, path = ""): readonly JsonChange[] {
  if (isSameJson(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const old = before as readonly JsonValue[];
    const now = after as readonly JsonValue[];
    return Array.from({ length: Math.max(old.length, now.length) }, (_, index) =>
      partChanges(old[index], now[index], `${path}[${index}]`),
    ).flat();
  }
  if (isJsonObject(before) && isJsonObject(after) && !isOtherOperator(before, after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      partChanges(ownMember(before, key), ownMember(after, key), joined(path, key)),
    );
  }
  return [{ path, before, after }];
}

function partChanges(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: string,
): readonly JsonChange[] {
  if (before !== undefined && after !== undefined) return jsonChanges(before, after, path);
  return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

/** An operator that was replaced by another is one change, not a member that is gone and a new one. */
function isOtherOperator(before: JsonObject, after: JsonObject): boolean {
  const [old, ...moreOld] = Object.keys(before);
  const [now, ...moreNow] = Object.keys(after);
  const isOne = moreOld.length === 0 && moreNow.length === 0;
  return isOne && old !== undefined && now !== undefined && old !== now;
}

function ownMember(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function joined(path: string, key: string): string {
  if (!/^[\w$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

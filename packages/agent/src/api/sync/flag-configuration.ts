import { canonicalJson, compareUtf8, type JsonObject } from "@bunting/protocol";
import type { Flag } from "@bunting/evaluation";

/** A flag never changes, and an update leaves most flags what they were: each is written once. */
const written = new WeakMap<Flag, string>();

/**
 * Flags as the document that providers evaluate in process: flagd's fields only, `$ref` replaced, the set's metadata in each flag, no
 * `key` (on which Python refuses the whole document). Equal flags give equal text.
 *
 * A map has room for one flag of a key: of those in several flag sets, the one with the greatest flagSetId is in it, as in flagd.
 */
export function flagConfiguration(flags: Iterable<Flag>): string {
  const byKey = new Map<string, Flag>();
  for (const flag of flags) {
    const other = byKey.get(flag.key);
    if (other === undefined || compareUtf8(other.flagSetId, flag.flagSetId) <= 0) byKey.set(flag.key, flag);
  }
  const members = [...byKey.values()].sort((a, b) => compareUtf8(a.key, b.key)).map(memberOf);
  return `{"flags":{${members.join(",")}}}`;
}

function memberOf(flag: Flag): string {
  let member = written.get(flag);
  if (member === undefined) {
    member = `${JSON.stringify(flag.key)}:${canonicalJson(definitionOf(flag))}`;
    written.set(flag, member);
  }
  return member;
}

function definitionOf(flag: Flag): JsonObject {
  const { state, defaultVariant, targeting, metadata, source } = flag;
  return {
    state,
    source,
    variants: Object.fromEntries(flag.variants),
    ...(defaultVariant === undefined ? {} : { defaultVariant }),
    ...(targeting === undefined ? {} : { targeting }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

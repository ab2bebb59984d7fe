import { canonicalJson, compareUtf8, type JsonObject } from "@bunting/protocol";
import { compareFlagSetIds, type Flag } from "@bunting/evaluation";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";

/** The JSON of each flag, written once: flags are immutable, and an update keeps most of them. */
const written = new WeakMap<Flag, string>();

/**
 * The document that providers evaluate in process: only flagd's fields, `$ref` replaced, the set's metadata in each flag, and no `key`,
 * for which Python would refuse the whole document. Equal flags give equal text.
 *
 * Flags are members by key: of flags in several sets with the same key, the one with the greatest flagSetId is taken, as in flagd.
 */
export function flagConfiguration(flags: Iterable<Flag>): string {
  const byKey = new Map<string, Flag>();
  for (const flag of flags) {
    const other = byKey.get(flag.key);
    if (other === undefined || compareFlagSetIds(other.flagSetId, flag.flagSetId) <= 0)
      byKey.set(flag.key, flag);
  }
  const members = [...byKey.values()].sort((a, b) => compareUtf8(a.key, b.key)).map(memberOf);
  return `{"flags":{${members.join(",")}}}`;
}

/** The document of the flags that are selected now. */
export function selectedConfiguration(reader: FlagReader, { select }: Selection): string {
  const flags = reader.flags();
  return flagConfiguration(select === undefined ? flags : [...flags].filter(select));
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

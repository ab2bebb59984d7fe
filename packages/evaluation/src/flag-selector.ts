import { quoted } from "@bunting/protocol";
import { FlagError } from "./flag-error.js";
import type { Flag, Metadata } from "./flag.js";

/** What selectors choose flags by. */
export type FlagOrigin = Pick<Flag, "flagSetId" | "source">;

/** A parsed selector: which flags it selects, and what it adds to the metadata of each answer. */
export interface FlagSelector {
  matches(flag: FlagOrigin): boolean;
  /** Whether it may select flags of a source. */
  takesSource(source: string): boolean;
  readonly metadata: Metadata;
}

/**
 * Parses a selector of flagd: one `key=value`, split at the first `=`, where the key is `flagSetId` or `source`. Without a `=` it names a
 * source. `flagSetId=` selects the flags without a flagSetId. An empty selector selects all flags.
 *
 * @throws FlagError SELECTOR_INVALID with a message for the client
 */
export function parseFlagSelector(text: string): FlagSelector {
  if (text === "") return { matches: () => true, takesSource: () => true, metadata: {} };
  const separator = text.indexOf("=");
  const key = separator < 0 ? "source" : text.slice(0, separator);
  const value = separator < 0 ? text : text.slice(separator + 1);
  switch (key) {
    case "flagSetId":
      return {
        matches: (flag) => flag.flagSetId === value,
        takesSource: () => true,
        metadata: { flagSetId: value },
      };
    case "source":
      return {
        matches: (flag) => flag.source === value,
        takesSource: (source) => source === value,
        // As in flagd, where only an id may be empty.
        metadata: value === "" ? {} : { source: value },
      };
    default:
      throw new FlagError(
        "SELECTOR_INVALID",
        // As in flagd, whose clients may look for it.
        `invalid selector key ${quoted(key)}, valid keys: "flagSetId", "source"`,
      );
  }
}

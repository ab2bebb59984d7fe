import { quoted } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import type { Flag, Metadata } from "@bunting/evaluation";

/** A selector, read: which flags it means, and what it says of itself in the metadata of each answer. */
export interface FlagSelector {
  matches(flag: Flag): boolean;
  readonly metadata: Metadata;
}

/**
 * Reads a selector in flagd's words: one `key=value`, split at the first `=`, where the key is `flagSetId` or `source`. Without `=` it names
 * a source. `flagSetId=` means the flags that have none. An empty selector means all flags.
 *
 * @throws AgentError SELECTOR_INVALID with a message for the client.
 */
export function parseFlagSelector(text: string): FlagSelector {
  if (text === "") return { matches: () => true, metadata: {} };
  const separator = text.indexOf("=");
  const key = separator < 0 ? "source" : text.slice(0, separator);
  const value = separator < 0 ? text : text.slice(separator + 1);
  switch (key) {
    case "flagSetId":
      return { matches: (flag) => flag.flagSetId === value, metadata: { flagSetId: value } };
    case "source":
      return { matches: (flag) => flag.source === value, metadata: { source: value } };
    default:
      throw new AgentError(
        "SELECTOR_INVALID",
        `the selector ${quoted(text)} selects by ${quoted(key)}, which flags can't be selected by: expected flagSetId=<id>, source=<uri>, or the URI of a source`,
      );
  }
}

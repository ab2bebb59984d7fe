import { RpcError } from "@bunting/rpc";
import {
  FlagError,
  parseFlagSelector,
  type FlagOrigin,
  type FlagSelector,
  type Metadata,
} from "@bunting/evaluation";
import { EncodedObject } from "./encoded-object.js";

/** The header that names a set of flags, in gRPC metadata as in HTTP. */
export const selectorHeader = "flagd-selector";

/** The flags that a request selects. */
export interface Selection {
  /** The text of the selector; "" selects all flags. */
  readonly text: string;
  readonly select: ((flag: FlagOrigin) => boolean) | undefined;
  /** Whether flags of a source may be among them. */
  readonly takesSource: (source: string) => boolean;
  /** The selector's own metadata, for answers that are not about a single flag. */
  readonly metadata: EncodedObject;
  /** The selector's metadata overlaid by a flag's. */
  metadataOf(flagMetadata: Metadata): EncodedObject;
}

export interface Selections {
  /**
   * Undefined and "" select all flags.
   *
   * @throws RpcError INVALID_ARGUMENT for a selector that can't be parsed.
   */
  of(text: string | undefined): Selection;
}

/** How many selections are kept: clients choose the selectors. The oldest is dropped first. */
const maxKept = 128;
/** The longest text of a selection that is kept. */
const maxKeptChars = 256;
/** A longer selector selects nothing: no flag set or source has such a name. Streams keep their selector, which is not charged. */
const maxSelectorChars = 4096;

export function createSelections(): Selections {
  const all = createSelection("", parseFlagSelector(""), undefined);
  // Its text is none that a request may have.
  const none = createSelection(
    "too long=",
    { matches: () => false, takesSource: () => false, metadata: {} },
    () => false,
  );
  const kept = new Map<string, Selection>();
  return {
    of: (text) => {
      if (text === undefined || text === "") return all;
      let selection = kept.get(text);
      if (selection === undefined) {
        const selector = parseOrRefuse(text);
        if (text.length > maxSelectorChars) return none;
        selection = createSelection(text, selector, (flag) => selector.matches(flag));
        if (text.length > maxKeptChars) return selection;
        if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? "");
        kept.set(text, selection);
      }
      return selection;
    },
  };
}

function createSelection(text: string, selector: FlagSelector, select: Selection["select"]): Selection {
  const encoded = new WeakMap<Metadata, EncodedObject>();
  return {
    text,
    select,
    takesSource: (source) => selector.takesSource(source),
    metadata: new EncodedObject(selector.metadata),
    metadataOf: (flagMetadata) => {
      let merged = encoded.get(flagMetadata);
      if (merged === undefined) {
        merged = new EncodedObject({ ...selector.metadata, ...flagMetadata });
        encoded.set(flagMetadata, merged);
      }
      return merged;
    },
  };
}

function parseOrRefuse(text: string): FlagSelector {
  try {
    return parseFlagSelector(text);
  } catch (error) {
    if (error instanceof FlagError && error.code === "SELECTOR_INVALID")
      throw new RpcError("INVALID_ARGUMENT", error.message, { cause: error });
    throw error;
  }
}

import { RpcError } from "@bunting/rpc";
import { FlagError, type Metadata } from "@bunting/evaluation";
import type { FlagFilter, FlagSelector, ParseFlagSelector } from "./backend.js";
import { EncodedObject } from "./encoded-object.js";

/** The header that names a set of flags, in gRPC metadata as in HTTP. */
export const selectorHeader = "flagd-selector";

/** The flags that a request is about. */
export interface Selection {
  /** The text of the selector; "" where all flags are meant. */
  readonly text: string;
  /** Undefined where all flags are meant. */
  readonly select: FlagFilter | undefined;
  /** What the selector says of itself: the metadata of answers that are about no single flag. */
  readonly metadata: EncodedObject;
  /** The selector's metadata overlaid by a flag's. */
  metadataOf(flagMetadata: Metadata): EncodedObject;
}

export interface Selections {
  /** Throws RpcError INVALID_ARGUMENT for a selector that cannot be read. Undefined and "" mean all flags. */
  of(text: string | undefined): Selection;
}

/** Selectors come from clients, so that only so many are kept; the one kept longest goes first. */
const maxKept = 128;

export function createSelections(parse: ParseFlagSelector): Selections {
  const all = createSelection("", { matches: () => true, metadata: {} }, undefined);
  const kept = new Map<string, Selection>();
  return {
    of: (text) => {
      if (text === undefined || text === "") return all;
      let selection = kept.get(text);
      if (selection === undefined) {
        const selector = parseOrRefuse(parse, text);
        selection = createSelection(text, selector, (flag) => selector.matches(flag));
        if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? "");
        kept.set(text, selection);
      }
      return selection;
    },
  };
}

function createSelection(text: string, selector: FlagSelector, select: FlagFilter | undefined): Selection {
  const encoded = new WeakMap<Metadata, EncodedObject>();
  return {
    text,
    select,
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

function parseOrRefuse(parse: ParseFlagSelector, text: string): FlagSelector {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof FlagError && error.code === "SELECTOR_INVALID") {
      throw new RpcError("INVALID_ARGUMENT", error.message, { cause: error });
    }
    throw error;
  }
}

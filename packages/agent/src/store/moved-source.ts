import type { SourceDocument } from "./update-source.js";

/** The document of a source at another place in the list. It shares everything with what it is made of but its flags, which know the place. */
export function movedSource(document: SourceDocument, sourceIndex: number): SourceDocument {
  if (document.set.sourceIndex === sourceIndex) return document;
  return {
    ...document,
    set: { ...document.set, sourceIndex },
    flags: document.flags.map((flag) => (flag === undefined ? undefined : { ...flag, sourceIndex })),
  };
}

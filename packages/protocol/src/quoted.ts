const maxCharacters = 120;

/**
 * Quotes text of a peer, a selector for instance, for use in a message: bounded, and printable ASCII only. Runtime has a `quoted` too, which
 * this package can't import: both are leaves.
 */
export function quoted(text: string): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 3)}...` : text;
  return JSON.stringify(cut).replace(/[^\x20-\x7e]/g, "?");
}

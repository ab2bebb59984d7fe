const maxCharacters = 120;

/**
 * Quotes text of a peer, a selector for instance, for use in a message: bounded, and `?` for what is not visible or changes how the rest is
 * shown. Runtime has a `quoted` too, which this package can't import: both are leaves.
 */
export function quoted(text: string): string {
  const characters = Array.from(text.slice(0, 2 * maxCharacters + 1));
  const cut =
    characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 3).join("")}...` : text;
  return JSON.stringify(cut).replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu, "?");
}

/**
 * Quotes text that came from a user or a peer for use in a message: in double quotes, cut to `maxCharacters`. Only letters, digits, marks,
 * punctuation and symbols stay as they are, of any script: `?` stands for what is not visible or changes how the rest is shown, so that the
 * text can neither flood a message nor disguise it.
 */
export function quoted(text: string, maxCharacters = 80): string {
  // A character is one or two units; a longer text is not taken apart.
  const characters = Array.from(text.slice(0, 2 * maxCharacters + 1));
  const cut =
    characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 3).join("")}...` : text;
  return JSON.stringify(cut).replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu, "?");
}

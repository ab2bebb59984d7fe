/**
 * Quotes text that came from a user or a peer for use in a message: in double quotes, cut to `maxCharacters`, and printable ASCII only
 * (`?` stands for any other letter), so that it can neither flood a message nor disguise it.
 */
export function quoted(text: string, maxCharacters = 80): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 3)}...` : text;
  return JSON.stringify(cut).replace(/[^\x20-\x7e]/g, "?");
}

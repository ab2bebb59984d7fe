/** Text from a peer or a document for use in a message: its first characters. The copy does not keep the whole text in memory. */
export function cut(text: string, maxCharacters = 500): string {
  if (text.length <= maxCharacters) return text;
  return Buffer.from(`${text.slice(0, maxCharacters - 3)}...`).toString();
}

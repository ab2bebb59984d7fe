/** Text from a peer or a document for use in a message: its first characters. The copy does not keep the whole text in memory. */
export function cut(text: string, maxCharacters = 500): string {
  if (text.length <= maxCharacters) return text;
  return Buffer.from(`${text.slice(0, maxCharacters - 3)}...`).toString();
}

/** As many whole characters of a text as fit into `maxBytes` bytes of UTF-8. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // Bytes of the form 10xxxxxx continue a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/** A name as node writes it: values with quotes, commas or control characters are JSON strings. */
const name = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/** URIs among the alternative names; none if any part is malformed: a name must not be read into another's value. */
export function uriSansOf(subjectAltName: string | undefined): string[] {
  if (subjectAltName === undefined) return [];
  const uris: string[] = [];
  name.lastIndex = 0;
  while (name.lastIndex < subjectAltName.length) {
    const [, type, value = ""] = name.exec(subjectAltName) ?? [];
    if (type === undefined) return [];
    if (type !== "URI") continue;
    const uri: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof uri === "string") uris.push(uri);
  }
  return uris;
}

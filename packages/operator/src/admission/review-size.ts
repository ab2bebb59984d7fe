const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The most that a review may hold: more than two objects of the largest size do, which the API server stores, written by a person or a program.
 * A text of 7 MB that is nothing but braces would take 300 MB of memory, and a second, to parse.
 */
const maxLevels = 10_000;
const maxLists = 300_000;
const maxFields = 400_000;

/** The limit that a text of JSON exceeds, as the end of a sentence; undefined if it exceeds none. Each byte is read once, and nothing is kept. */
export function excessOf(text: Buffer): string | undefined {
  let [levels, lists, fields] = [0, 0, 0];
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (isInString) {
      if (byte === backslash) at++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === colon) fields++;
    else if (byte === closeList || byte === closeObject) levels--;
    else if (byte === openList || byte === openObject) {
      lists++;
      levels++;
      if (levels > maxLevels) return `is nested more than ${maxLevels} levels deep`;
    }
  }
  if (lists > maxLists) return `has more than ${maxLists} objects and lists`;
  return fields > maxFields ? `has more than ${maxFields} fields` : undefined;
}

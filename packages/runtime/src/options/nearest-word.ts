import { quoted } from "../quoted.js";

/** The word that was most probably meant by another one with at most a few letters changed; undefined if there is none. */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  const given = word.toLowerCase();
  const maxEdits = Math.min(3, Math.floor(given.length / 3));
  let best: string | undefined;
  let fewest = maxEdits + 1;
  for (const each of words) {
    // Keys of documents may be long.
    if (Math.abs(each.length - given.length) > maxEdits) continue;
    const edits = editsBetween(each.toLowerCase(), given);
    if (edits < fewest) [best, fewest] = [each, edits];
  }
  return best;
}

/** The end of a sentence about a word that is none of these: the one that was probably meant; empty if there is none. */
export function didYouMean(word: string, words: Iterable<string>): string {
  const meant = nearestWord(word, words);
  return meant === undefined ? "" : `: did you mean ${quoted(meant)}?`;
}

/** How many letters have to be changed, left out or added, or swapped with the next, to make the one of the other. */
export function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

/** What a search reads of a text; a string is one. */
export interface TextUnits {
  readonly length: number;
  charCodeAt(index: number): number;
}

/** The end of the left half of a text, where a search begins to compare, and the period of the right half. */
interface Factorization {
  readonly left: number;
  readonly period: number;
}

/**
 * Whether a text contains another, by the two-way algorithm of Crochemore and Perrin: about two comparisons for each unit of the text whatever
 * the two are, and no memory. The search of V8 compares as often as their lengths' product, which takes minutes for two texts of a megabyte.
 */
export function containsText(text: TextUnits, part: TextUnits): boolean {
  const { length } = part;
  const { left, period } = criticalFactorization(part);
  const isPeriodic = endOfMatch(part, part, period, 0, left) === left;
  const shift = isPeriodic ? period : Math.max(left, length - left) + 1;
  /** Units that matched before a shift by the period. They are not compared again. */
  let known = 0;
  for (let at = 0; at <= text.length - length;) {
    const right = endOfMatch(text, part, at, Math.max(left, known));
    if (right < length) {
      at += right - left + 1;
      known = 0;
      continue;
    }
    if (startOfMatch(text, part, at, left, known) <= known) return true;
    at += shift;
    if (isPeriodic) known = length - period;
  }
  return false;
}

/** The first index from `from` on at which the part differs from the text at `at`; `until` if there is none below it. */
function endOfMatch(text: TextUnits, part: TextUnits, at: number, from: number, until = part.length): number {
  let i = from;
  while (i < until && part.charCodeAt(i) === text.charCodeAt(at + i)) i++;
  return i;
}

/** The index after the last one below `from` at which the part differs from the text at `at`, or at most `until`. */
function startOfMatch(text: TextUnits, part: TextUnits, at: number, from: number, until: number): number {
  let i = from;
  while (i > until && part.charCodeAt(i - 1) === text.charCodeAt(at + i - 1)) i--;
  return i;
}

/** The later of the greatest suffixes by the order of units and by its reverse: no match within is found twice. */
function criticalFactorization(part: TextUnits): Factorization {
  const ascending = greatestSuffix(part, (a, b) => a < b);
  const descending = greatestSuffix(part, (a, b) => a > b);
  return ascending.left > descending.left ? ascending : descending;
}

function greatestSuffix(part: TextUnits, isBefore: (a: number, b: number) => boolean): Factorization {
  let left = 0;
  let candidate = 1;
  let matched = 0;
  let period = 1;
  while (candidate + matched < part.length) {
    const a = part.charCodeAt(candidate + matched);
    const b = part.charCodeAt(left + matched);
    if (a === b) {
      if (matched + 1 === period) {
        candidate += period;
        matched = 0;
      } else matched++;
    } else if (isBefore(a, b)) {
      candidate += matched + 1;
      matched = 0;
      period = candidate - left;
    } else {
      left = candidate;
      candidate++;
      matched = 0;
      period = 1;
    }
  }
  return { left, period };
}

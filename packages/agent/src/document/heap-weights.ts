/**
 * The heap that V8 spends on the parts of a flag document once it is parsed and its rules are compiled, in bytes. The weights were fitted
 * to documents of very different shapes, one kind of part after the other, and are above the measured values for nearly all of them:
 * docs/memory.md has the figures.
 */
export const heapWeights = {
  /** A flag besides its text: the Flag, its Map of variants, its entries in indexes. */
  flag: 900,
  /** Half of it is for the closure that an operator of a rule is compiled to. */
  object: 152,
  list: 48,
  /** Also a number that needs an object of its own. */
  item: 24,
  property: 40,
  /** Without its characters. */
  string: 24,
} as const;

/** A text beyond this size, in bytes, is a burden each time it is copied: four times on its way to an in-process provider. */
const longTextBytes = 64 * 1024;

/** The heap that the characters of a text take of which one is beyond Latin-1: V8 then takes two bytes for each. */
export function wideTextWeight(bytes: number): number {
  return bytes > longTextBytes ? 8 * bytes : 2 * bytes;
}

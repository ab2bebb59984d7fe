/**
 * What V8 spends on the parts of a flag document once it is parsed and its rules are compiled, in bytes. They were fitted to documents of
 * very different shapes, one kind of part after the other, and lie above what was measured for nearly all: docs/memory.md has the figures.
 */
export const heapWeights = {
  /** A flag besides its text: the Flag, its Map of variants, its places in indexes. */
  flag: 900,
  /** Half of it is for the closure that an operator of a rule becomes. */
  object: 152,
  list: 48,
  /** Also for a number that takes a place of its own. */
  item: 24,
  property: 40,
  /** Besides its characters. */
  string: 24,
} as const;

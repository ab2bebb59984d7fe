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

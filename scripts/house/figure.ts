/** A place that a figure counts, or that makes it as large as it is. */
export interface Offender {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** One number that says how well the house is kept. It is better the smaller it is. */
export interface Figure {
  /** The key of its bound, in bounds.json. */
  readonly name: string;
  readonly now: number;
  /** The worst first. */
  readonly offenders: readonly Offender[];
}

/** A figure that counts its offenders. */
export function countOf(name: string, offenders: readonly Offender[]): Figure {
  return { name, now: offenders.length, offenders };
}

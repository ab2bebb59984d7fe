import type { Figure } from "./figure.js";

/** What a figure may be today, and what it is to become. */
export interface Bound {
  readonly bound: number;
  readonly target: number;
}

export type Bounds = Readonly<Record<string, Bound>>;

/** A figure beside its bound. */
export interface Verdict extends Bound {
  readonly figure: Figure;
  readonly state: "worse" | "kept" | "better";
}

/**
 * Holds each figure against its bound.
 *
 * @throws Error if a figure has no bound, or a bound no figure, since it would hold nothing.
 */
export function verdicts(figures: readonly Figure[], bounds: Bounds): Verdict[] {
  const names = new Set(figures.map(({ name }) => name));
  const unused = Object.keys(bounds).find((name) => !names.has(name));
  if (unused !== undefined)
    throw new Error(`scripts/house/bounds.json has "${unused}", which is not counted`);
  return figures.map((figure) => {
    const bound = bounds[figure.name];
    if (bound === undefined) throw new Error(`scripts/house/bounds.json has no "${figure.name}"`);
    const state = figure.now > bound.bound ? "worse" : figure.now < bound.bound ? "better" : "kept";
    return { ...bound, figure, state };
  });
}

/** The bounds, each as low as its figure is now: what has become better stays so. */
export function tightened(results: readonly Verdict[]): Bounds {
  return Object.fromEntries(
    results.map(({ figure, bound, target }) => [figure.name, { bound: Math.min(bound, figure.now), target }]),
  );
}

import type { SourceProblem } from "./source-problem.js";

/**
 * The most that the objects of one text may have together, in characters of JSON: twice of what becomes an argument. The API server stores more in
 * one object alone, and a text may name it sixteen times.
 */
export const maxCharacters = 256 * 1024;
/** More than fit into the argument of a sidecar. */
const maxSources = 1_000;

const measured = new WeakMap<object, number>();

interface MeasuredSpec {
  readonly sources?: readonly unknown[];
}

/** Adds up the specs that a text names. Nothing of one is to be merged before it was added. */
export class SpecSize {
  #characters = 0;
  #sources = 0;

  /** @returns why the text is refused, if the specs so far are more than can be merged */
  add(spec: object): SourceProblem | undefined {
    const { sources = [] }: MeasuredSpec = spec;
    this.#characters += charactersOf(spec);
    this.#sources += sources.length;
    return this.#characters > maxCharacters || this.#sources > maxSources ? tooMany : undefined;
  }
}

const tooMany: SourceProblem = {
  reason: "TooMany",
  message: `what the annotation names has more than ${maxSources} sources or ${maxCharacters / 1024} KB together, with which no sidecar could start; name fewer objects, or smaller ones`,
};

/** Objects in memory are never changed, so each is measured once. */
export function charactersOf(spec: object): number {
  const known = measured.get(spec) ?? JSON.stringify(spec).length;
  measured.set(spec, known);
  return known;
}

import { Signal } from "@bunting/runtime";
import { maxTextLength } from "../../sources/object-names.js";

/** Which annotation a text is of. */
export type TextList = "sources" | "inProcess";

/** Texts of a namespace, the oldest first; true for those that could not be compiled. */
type Texts = Record<TextList, Map<string, boolean>>;

/**
 * Texts of annotations that were seen on Pods of each namespace. What names one object of the namespace is compiled before any Pod has it; these
 * are the others, such as `a,b`. A text is kept as long as its namespace is, but one that could not be compiled only while there is room: Pods may
 * have any.
 */
export class SeenTexts {
  readonly #maxTexts: number;
  readonly #texts = new Map<string, Texts>();
  readonly #added = new Signal<string>();

  /** @param maxTexts of a list of a namespace; more are left to the webhook */
  constructor(maxTexts: number) {
    this.#maxTexts = maxTexts;
  }

  of(namespace: string, list: TextList): readonly string[] {
    return [...(this.#texts.get(namespace)?.[list].keys() ?? [])];
  }

  add(namespace: string, list: TextList, text: string): void {
    const texts = this.#texts.get(namespace) ?? {
      sources: new Map<string, boolean>(),
      inProcess: new Map<string, boolean>(),
    };
    const known = texts[list];
    if (known.has(text) || text.length > maxTextLength) return;
    if (known.size >= this.#maxTexts && !forgetRefused(known)) return;
    known.set(text, false);
    this.#texts.set(namespace, texts);
    this.#added.emit(namespace);
  }

  /** Notes whether a text could be compiled the last time. */
  compiled(namespace: string, list: TextList, text: string, isCompiled: boolean): void {
    const known = this.#texts.get(namespace)?.[list];
    if (known?.has(text) === true) known.set(text, !isCompiled);
  }

  /** Forgets a namespace that is gone. */
  forget(namespace: string): void {
    this.#texts.delete(namespace);
  }

  /** Calls back with the namespace of each text that was not known, until the returned function is called. */
  listen(listener: (namespace: string) => void): () => void {
    return this.#added.listen(listener);
  }
}

/** False if there is none. */
function forgetRefused(known: Map<string, boolean>): boolean {
  for (const [text, isRefused] of known) if (isRefused) return known.delete(text);
  return false;
}

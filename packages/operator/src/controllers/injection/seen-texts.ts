import { Signal } from "@bunting/runtime";
import { maxTextLength } from "../../sources/object-names.js";

/** Which annotation a text is of. */
export type TextList = "sources" | "inProcess";

/** More than an Injection has room for; more are left to the webhook. */
const maxTexts = 200;

/** Texts of a namespace, the oldest first; true for those that could not be compiled. */
type Texts = Record<TextList, Map<string, boolean>>;

/**
 * Texts of annotations that were seen on Pods of each namespace. What names one object of the namespace is compiled before any Pod has it; these
 * are the others, such as `a,b`. A text is kept as long as its namespace is, but one that could not be compiled only while there is room: Pods may
 * have any.
 */
export class SeenTexts {
  readonly #texts = new Map<string, Texts>();
  readonly #added = new Signal<string>();

  of(namespace: string, list: TextList): readonly string[] {
    return [...(this.#texts.get(namespace)?.[list].keys() ?? [])];
  }

  add(namespace: string, list: TextList, text: string): void {
    const texts = this.#texts.get(namespace) ?? {
      sources: new Map<string, boolean>(),
      inProcess: new Map<string, boolean>(),
    };
    const known = texts[list];
    if (known.has(text) || text.length > maxTextLength || !makeRoom(known)) return;
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
function makeRoom(known: Map<string, boolean>): boolean {
  if (known.size < maxTexts) return true;
  for (const [text, isRefused] of known) if (isRefused) return known.delete(text);
  return false;
}

import { Signal } from "@bunting/runtime";

/** Which annotation a text is of. */
export type TextList = "sources" | "inProcess";

/** More than an Injection has room for; more are left to the webhook. */
const maxTexts = 200;

/**
 * Texts of annotations that were seen on Pods of each namespace. What names one object of the namespace is compiled before any Pod has it; these
 * are the others, such as `a,b`. A text is kept as long as its namespace is.
 */
export class SeenTexts {
  readonly #texts = new Map<string, Record<TextList, Set<string>>>();
  readonly #added = new Signal<string>();

  of(namespace: string, list: TextList): readonly string[] {
    return [...(this.#texts.get(namespace)?.[list] ?? [])];
  }

  add(namespace: string, list: TextList, text: string): void {
    const texts = this.#texts.get(namespace) ?? { sources: new Set(), inProcess: new Set() };
    if (texts[list].has(text) || texts[list].size >= maxTexts) return;
    texts[list].add(text);
    this.#texts.set(namespace, texts);
    this.#added.emit(namespace);
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

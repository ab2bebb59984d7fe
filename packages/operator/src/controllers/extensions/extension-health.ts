import type { ExtensionAnswer } from "@bunting/extension";
import { Signal } from "@bunting/runtime";

/** How an extension does, as far as this process has asked it. */
export type HealthState =
  | { readonly kind: "unasked" }
  | { readonly kind: "healthy"; readonly lastError?: string }
  | { readonly kind: "failing"; readonly lastError: string };

/** Whether extensions answer, and answer what they may. */
export class ExtensionHealth {
  readonly #states = new Map<string, HealthState>();
  /** Extensions that have answered a call since they failed last: what they answered before that counts for objects, and says nothing of them. */
  readonly #answered = new Set<string>();
  readonly #changed = new Signal<string>();

  of(extension: string): HealthState {
    return this.#states.get(extension) ?? unasked;
  }

  get failing(): readonly string[] {
    return [...this.#states].flatMap(([name, { kind }]) => (kind === "failing" ? [name] : []));
  }

  /** A call has ended. */
  called(extension: string, kind: ExtensionAnswer["kind"]): void {
    if (kind === "failed") this.#answered.delete(extension);
    else this.#answered.add(extension);
  }

  /** What became of an answer, which may be one of earlier, once it was looked at. */
  heard(extension: string, answer: ExtensionAnswer): void {
    const before = this.of(extension);
    if (answer.kind === "failed") {
      // A kept answer about another object would have it recover, and all that wait for that look again, without end.
      this.#answered.delete(extension);
      this.#enter(extension, { kind: "failing", lastError: answer.reason });
      return;
    }
    if (!this.#answered.has(extension) || before.kind === "healthy") return;
    this.#enter(extension, { ...before, kind: "healthy" });
  }

  /** Forgets all Extensions but these. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#states.keys()) if (!names.has(name)) this.#states.delete(name);
    for (const name of this.#answered) if (!names.has(name)) this.#answered.delete(name);
  }

  /** Calls back with each Extension whose state has changed, until the returned function is called. */
  listen(listener: (extension: string) => void): () => void {
    return this.#changed.listen(listener);
  }

  #enter(extension: string, state: HealthState): void {
    if (JSON.stringify(this.of(extension)) === JSON.stringify(state)) return;
    this.#states.set(extension, state);
    this.#changed.emit(extension);
  }
}

const unasked: HealthState = { kind: "unasked" };

import type { ExtensionAnswer, ExtensionHook } from "@bunting/extension";
import { Signal } from "@bunting/runtime";
import type { Extension } from "../../api/extension.js";
import { extensionVersion } from "../../extensions/extension-version.js";

/** How an extension does, as far as this process has asked it. */
export type HealthState =
  | { readonly kind: "unasked" }
  | { readonly kind: "healthy"; readonly lastError?: string }
  | {
      readonly kind: "failing";
      /** What it was asked for when it failed last. */
      readonly hook: ExtensionHook;
      readonly lastError: string;
    };

/** Whether extensions answer, and answer what they may. */
export class ExtensionHealth {
  readonly #states = new Map<string, HealthState>();
  /** By name and hook, Extensions that have answered a call since they failed last: what they answered before that counts for objects, and says nothing of them. */
  readonly #answered = new Set<string>();
  /** Extensions whose newest version has answered something. */
  readonly #known = new Set<string>();
  /** The newest version of each: what became of calls of others says nothing of it. */
  readonly #versions = new Map<string, string>();
  readonly #changed = new Signal<string>();

  of(extension: string): HealthState {
    return this.#states.get(extension) ?? unasked;
  }

  /** A call has ended. */
  called(extension: Extension, hook: ExtensionHook, kind: ExtensionAnswer["kind"]): void {
    if (!this.#isNewest(extension)) return;
    const asked = askedFor(extension.metadata.name, hook);
    if (kind === "failed") this.#answered.delete(asked);
    else {
      this.#answered.add(asked);
      this.#known.add(extension.metadata.name);
    }
  }

  /** All objects are gone, or made without it, at which an Extension has failed. */
  settled(name: string): void {
    const before = this.of(name);
    if (before.kind !== "failing" || before.hook !== "pre-create") return;
    const { lastError } = before;
    this.#enter(name, this.#known.has(name) ? { kind: "healthy", lastError } : unasked);
  }

  /** What became of an answer, which may be one of earlier, once it was looked at. */
  heard(extension: Extension, hook: ExtensionHook, answer: ExtensionAnswer): void {
    if (!this.#isNewest(extension)) return;
    const { name } = extension.metadata;
    const before = this.of(name);
    if (answer.kind === "failed") {
      // A kept answer about another object would have it recover, and all that wait for that look again, without end.
      this.#answered.delete(askedFor(name, hook));
      this.#enter(name, { kind: "failing", hook, lastError: answer.reason });
      return;
    }
    if (!this.#answered.has(askedFor(name, hook)) || before.kind === "healthy") return;
    // Comments on flags say nothing of what it makes of objects.
    if (before.kind === "failing" && before.hook !== hook) return;
    this.#enter(name, {
      kind: "healthy",
      ...(before.kind === "failing" ? { lastError: before.lastError } : {}),
    });
  }

  /** Forgets all Extensions but these, and what is known of other versions of these. */
  keep(extensions: readonly Extension[]): void {
    const versions = new Map(extensions.map((each) => [each.metadata.name, extensionVersion(each)]));
    for (const [name, version] of this.#versions) {
      if (versions.get(name) === version) continue;
      this.#versions.delete(name);
      for (const hook of hooks) this.#answered.delete(askedFor(name, hook));
      this.#known.delete(name);
      this.#enter(name, unasked);
      this.#states.delete(name);
    }
    for (const [name, version] of versions) this.#versions.set(name, version);
  }

  #isNewest(extension: Extension): boolean {
    return this.#versions.get(extension.metadata.name) === extensionVersion(extension);
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
const hooks: readonly ExtensionHook[] = ["pre-create", "lint"];

function askedFor(name: string, hook: ExtensionHook): string {
  return `${name} ${hook}`;
}

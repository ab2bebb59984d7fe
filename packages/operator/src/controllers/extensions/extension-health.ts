import type { ExtensionAnswer, ExtensionHook } from "@bunting/extension";
import { Signal } from "@bunting/runtime";
import type { Extension } from "../../api/extension.js";
import { extensionVersion } from "../../extensions/extension-version.js";

/** How an extension does, as far as this process has asked it, or other replicas have said of it. */
export type HealthState =
  | { readonly kind: "unasked" }
  | { readonly kind: "healthy"; readonly lastError?: string }
  | {
      readonly kind: "failing";
      /** Hooks at which it fails, the newest last. */
      readonly hooks: readonly ExtensionHook[];
      readonly lastError: string;
    };

/** Findings about the newest version of an Extension. Calls of other versions say nothing of it. */
interface Known {
  readonly extension: Extension;
  /** Why it failed, by what it was asked for, the newest last. */
  readonly failing: Map<ExtensionHook, string>;
  /** Hooks whose calls it has answered since it last failed at them. An answer kept from before counts for objects, and not as a sign of health. */
  readonly answered: Set<ExtensionHook>;
  hasAnswered: boolean;
  lastError?: string;
  /** Why its status calls it failing; undefined if it does not. */
  storedError?: string | undefined;
}

/**
 * Whether extensions answer, and answer what they may. Each replica asks some things of them, and may write that one fails. That it does no more is written by
 * the leader alone, which takes what others have found for findings of its own until it was answered afresh; the others believe it.
 */
export class ExtensionHealth {
  readonly #known = new Map<string, Known>();
  /** As it was told last. */
  readonly #states = new Map<string, HealthState>();
  readonly #changed = new Signal<string>();
  #isLeading = false;

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** To be called when this process begins to lead, and when it ends. */
  lead(isLeading: boolean): void {
    this.#isLeading = isLeading;
    if (isLeading) for (const known of this.#known.values()) this.#adopt(known);
  }

  of(extension: string): HealthState {
    return this.#states.get(extension) ?? unasked;
  }

  /** A call has ended. */
  called(extension: Extension, hook: ExtensionHook, kind: ExtensionAnswer["kind"]): void {
    const known = this.#newest(extension);
    if (known === undefined) return;
    if (kind === "failed") known.answered.delete(hook);
    else {
      known.answered.add(hook);
      known.hasAnswered = true;
    }
  }

  /** What became of an answer, which may be one of earlier, once it was looked at. */
  heard(extension: Extension, hook: ExtensionHook, answer: ExtensionAnswer): void {
    const known = this.#newest(extension);
    if (known === undefined) return;
    if (answer.kind === "failed") fails(known, hook, answer.reason);
    // A kept answer about another object would have it recover, and all that wait for that look again, without end.
    else if (known.answered.has(hook)) known.failing.delete(hook);
    else return;
    this.#tell(extension.metadata.name);
  }

  /** All objects are gone, or made without it, at which an Extension has failed, or nobody asks it for this any more. */
  settled(name: string, hook: ExtensionHook = "pre-create"): void {
    if (this.#known.get(name)?.failing.delete(hook) === true) this.#tell(name);
  }

  /**
   * The status of an Extension was read.
   *
   * @param error why it is called failing; undefined if it is not
   */
  stored(extension: Extension, error: string | undefined): void {
    const known = this.#newest(extension);
    if (known === undefined || known.storedError === error) return;
    known.storedError = error;
    if (error !== undefined) this.#adopt(known);
    else if (!this.#isLeading) known.failing.clear();
    // Somebody has called it healthy who had not heard of the failure.
    else if (known.failing.size > 0) this.#changed.emit(extension.metadata.name);
    this.#tell(extension.metadata.name);
  }

  /** At which hook another replica has found it failing is not known. */
  #adopt(known: Known): void {
    const { extension, failing, storedError } = known;
    if (storedError === undefined || storedError === [...failing.values()].at(-1)) return;
    for (const hook of extension.spec.hooks) if (!failing.has(hook)) fails(known, hook, storedError);
    this.#tell(extension.metadata.name);
  }

  /** Forgets all Extensions but these, and what is known of other versions of these. */
  keep(extensions: readonly Extension[]): void {
    const byName = new Map(extensions.map((each) => [each.metadata.name, each]));
    for (const [name, { extension }] of this.#known) {
      const now = byName.get(name);
      if (now !== undefined && extensionVersion(now) === extensionVersion(extension)) continue;
      this.#known.delete(name);
      this.#tell(name);
      this.#states.delete(name);
    }
    for (const [name, extension] of byName)
      if (!this.#known.has(name))
        this.#known.set(name, { extension, failing: new Map(), answered: new Set(), hasAnswered: false });
  }

  /** Calls back with each Extension whose state has changed, until the returned function is called. */
  listen(listener: (extension: string) => void): () => void {
    return this.#changed.listen(listener);
  }

  #newest(extension: Extension): Known | undefined {
    const known = this.#known.get(extension.metadata.name);
    if (known === undefined || extensionVersion(known.extension) !== extensionVersion(extension))
      return undefined;
    return known;
  }

  #tell(name: string): void {
    const state = stateOf(this.#known.get(name));
    if (JSON.stringify(this.of(name)) === JSON.stringify(state)) return;
    this.#states.set(name, state);
    this.#changed.emit(name);
  }
}

const unasked: HealthState = { kind: "unasked" };

function fails(known: Known, hook: ExtensionHook, error: string): void {
  known.answered.delete(hook);
  known.failing.delete(hook);
  known.failing.set(hook, error);
  known.lastError = error;
}

function stateOf(known: Known | undefined): HealthState {
  if (known === undefined) return unasked;
  const { failing, hasAnswered, lastError } = known;
  const hooks = [...failing.keys()];
  const error = [...failing.values()].at(-1);
  if (error !== undefined) return { kind: "failing", hooks, lastError: error };
  if (!hasAnswered) return unasked;
  return { kind: "healthy", ...(lastError === undefined ? {} : { lastError }) };
}

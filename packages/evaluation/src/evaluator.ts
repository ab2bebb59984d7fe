import type { Flag } from "./flag.js";
import type { CompiledFlag, OnFailure } from "./compiled-flag.js";
import { FlagIndex, type FlagFilter } from "./flag-index.js";
import type { EvaluationContext, Resolution } from "./resolution.js";
import { Scope, type EvaluationClock } from "./scope.js";

/** What an update did to the flags that are served. Each flagSetId and key appears at most once. */
export interface FlagChanges {
  /** Flags that are new, or replace the one with the same flagSetId and key. */
  readonly upserted: readonly Flag[];
  readonly removed: readonly Flag[];
}

export interface ResolvedFlag {
  /** The flag as it is listed; another one with the same key, of a later source or flag set, may be what was evaluated. */
  readonly flag: Flag;
  readonly resolution: Resolution;
}

export interface EvaluatorOptions {
  /** Default: the clock of the system. */
  readonly clock?: EvaluationClock;
  /** Called with the reason each time a flag answers PARSE_ERROR. */
  readonly onFailure?: OnFailure;
}

interface StaleFlags {
  /** By index. */
  readonly sources: ReadonlySet<number>;
  /** The answers with reason STALE, by those without: made once, as answers are. */
  readonly answers: WeakMap<Resolution, Resolution>;
}

const notFound: Resolution = Object.freeze({
  reason: "ERROR",
  variant: undefined,
  value: undefined,
  metadata: Object.freeze({}),
  errorCode: "FLAG_NOT_FOUND",
});

/** The same answer with reason STALE if it has a value. */
function staleAnswer(resolution: Resolution, answers: WeakMap<Resolution, Resolution>): Resolution {
  if (resolution.variant === undefined) return resolution;
  let stale = answers.get(resolution);
  if (stale === undefined) answers.set(resolution, (stale = { ...resolution, reason: "STALE" }));
  return stale;
}

/** Answers evaluations from the flags that are served now. It never throws, and never changes an answer it has given. */
export class Evaluator {
  readonly #index = new FlagIndex();
  readonly #scope: Scope;
  readonly #onFailure: OnFailure | undefined;
  #stale: StaleFlags | undefined;

  constructor({ clock = Date, onFailure }: EvaluatorOptions = {}) {
    this.#scope = new Scope(clock);
    this.#onFailure = onFailure;
  }

  /** Applies an update. The cost is that of the flags that changed: all others keep their compiled rules. */
  apply({ upserted, removed }: FlagChanges): void {
    this.#index.remove(removed);
    this.#index.put(upserted);
  }

  /** From now on, values of flags of these sources, by their index, are answered with reason STALE; those of all others are not. */
  setStale(sources: ReadonlySet<number>): void {
    this.#stale =
      sources.size === 0 ? undefined : { sources, answers: this.#stale?.answers ?? new WeakMap() };
  }

  /** Evaluates the flag with this key. Of several, that of the latest source among those that `select` takes. */
  resolve(key: string, context: EvaluationContext, select?: FlagFilter): Resolution {
    const compiled = this.#index.winner(key, select);
    if (compiled === undefined) return notFound;
    if (compiled.fixed !== undefined) return this.#marked(compiled, compiled.fixed);
    this.#scope.beginRequest();
    return this.#marked(compiled, compiled.resolve(context, this.#scope, this.#onFailure));
  }

  /**
   * Lists each selected flag, by flagSetId, then key, with the answer that `resolve` with the same `select` gives for its key: a key of
   * several flag sets is listed once for each of them. All share the work that a single evaluation may do, beyond a small amount for each
   * flag: only flags that exceed both answer PARSE_ERROR.
   */
  resolveAll(context: EvaluationContext, select?: FlagFilter): readonly ResolvedFlag[] {
    const resolved: ResolvedFlag[] = [];
    this.#scope.beginRequest();
    for (const { flag, winner } of this.#index.listed(select)) {
      const resolution = winner.resolve(context, this.#scope, this.#onFailure);
      resolved.push({ flag, resolution: this.#marked(winner, resolution) });
    }
    return resolved;
  }

  #marked(compiled: CompiledFlag, resolution: Resolution): Resolution {
    const stale = this.#stale;
    return stale?.sources.has(compiled.flag.sourceIndex) === true
      ? staleAnswer(resolution, stale.answers)
      : resolution;
  }
}

import type { Clock, Component } from "@bunting/runtime";

/** The longest time that the ports for applications wait for sources. */
const longestWaitMs = 2_000;

/**
 * The sources that have not answered since the start, neither with flags nor with the message that they have none. As long as there are some, nobody
 * knows whether a flag that is not served exists.
 */
export class AwaitedSources {
  /** By index, what flags of the source have as their source. */
  readonly #awaited: Map<number, string>;
  #onComplete = (): void => undefined;

  constructor(sources: readonly { readonly uri: string }[]) {
    this.#awaited = new Map(sources.map(({ uri }, index) => [index, uri]));
  }

  get isComplete(): boolean {
    return this.#awaited.size === 0;
  }

  /** The sources that have not answered. */
  awaited(): Iterable<readonly [sourceIndex: number, uri: string]> {
    return this.#awaited;
  }

  /** To be called for each answer of a source; true if it is its first. */
  answered(sourceIndex: number): boolean {
    const isFirst = this.#awaited.delete(sourceIndex);
    if (isFirst && this.isComplete) this.#onComplete();
    return isFirst;
  }

  /** Whether flags may be missing of those that a selector takes of some sources only. */
  mayLack({ takesSource }: { readonly takesSource: (source: string) => boolean }): boolean {
    if (this.isComplete) return false;
    for (const uri of this.#awaited.values()) if (takesSource(uri)) return true;
    return false;
  }

  /** Holds the components after it back until all sources have answered, but not for long. */
  component(clock: Clock): Component {
    return {
      name: "awaited-sources",
      reason: "after the sources, before the ports of those who would be told that a flag does not exist",
      start: (_fail, signal) =>
        new Promise((resolve) => {
          if (this.isComplete || signal.aborted) {
            resolve();
            return;
          }
          const end = (): void => {
            cancel();
            signal.removeEventListener("abort", end);
            resolve();
          };
          const cancel = clock.after(longestWaitMs, end);
          signal.addEventListener("abort", end, { once: true });
          this.#onComplete = end;
        }),
      stop: () => Promise.resolve(),
    };
  }
}

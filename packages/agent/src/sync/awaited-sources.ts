import { startSleep, type Clock, type Component } from "@bunting/runtime";

/** The longest time that the ports for applications wait for sources. */
const longestWaitMs = 2_000;

/**
 * The sources that have not answered since the start, neither with flags nor with the message that they have none. As long as there are some, nobody
 * knows whether a flag that is not served exists. A last-known-good copy is an answer in this sense. The ports for applications wait for the source
 * itself, because a copy may be older than what an application was answered before this process.
 */
export class AwaitedSources {
  /** By index, what flags of the source have as their source. */
  readonly #awaited: Map<number, string>;
  /** Indices of the sources that the ports wait for. */
  readonly #holdingPorts: Set<number>;
  #openPorts = (): void => undefined;

  constructor(sources: readonly { readonly uri: string }[]) {
    this.#awaited = new Map(sources.map(({ uri }, index) => [index, uri]));
    this.#holdingPorts = new Set(this.#awaited.keys());
  }

  get isComplete(): boolean {
    return this.#awaited.size === 0;
  }

  /** The sources that have not answered. */
  awaited(): Iterable<readonly [sourceIndex: number, uri: string]> {
    return this.#awaited;
  }

  /** To be called for each answer of a source; true if it is its first, and there was no copy. */
  answered(sourceIndex: number): boolean {
    this.#releasePorts(sourceIndex);
    return this.#awaited.delete(sourceIndex);
  }

  /** The flags of the source's last-known-good copy are served; true if it has not answered before. */
  loaded(sourceIndex: number): boolean {
    return this.#awaited.delete(sourceIndex);
  }

  /** The source can't be reached: if there is a copy of it, that is the best there is. */
  lost(sourceIndex: number): void {
    if (!this.#awaited.has(sourceIndex)) this.#releasePorts(sourceIndex);
  }

  /** Whether flags may be missing of those that a selector takes of some sources only. */
  mayLack({ takesSource }: { readonly takesSource: (source: string) => boolean }): boolean {
    if (this.isComplete) return false;
    for (const uri of this.#awaited.values()) if (takesSource(uri)) return true;
    return false;
  }

  /** Holds the components after it back until all sources have answered, or those with a copy can't be reached, but not for long. */
  component(clock: Clock): Component {
    return {
      name: "awaited-sources",
      reason: "after the sources, before the ports of those who would be told that a flag does not exist",
      start: (_fail, signal) => {
        if (this.#holdingPorts.size === 0) return;
        const { ended, wake } = startSleep(longestWaitMs, signal, clock);
        this.#openPorts = wake;
        return ended;
      },
      stop: () => undefined,
    };
  }

  #releasePorts(sourceIndex: number): void {
    if (this.#holdingPorts.delete(sourceIndex) && this.#holdingPorts.size === 0) this.#openPorts();
  }
}

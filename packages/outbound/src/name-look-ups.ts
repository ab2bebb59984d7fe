import type { LookupAddress } from "node:dns";
import { FairTurns } from "@bunting/runtime";

/**
 * Places for look-ups, of all guards of this process. A look-up holds one of the four threads on which node reads files and packs, for as long as a
 * name server is silent: look-ups of others' choosing may never hold all of the threads, and those of one owner never both places.
 */
const turns = new FairTurns(2);

/** Look-ups of names, in which owners take turns. A name that an owner asks for again meanwhile is looked up once. */
export class NameLookUps {
  readonly #resolve: (name: string) => Promise<readonly LookupAddress[]>;
  /** Look-ups that wait or are under way, by owner and name. */
  readonly #asked = new Map<string, Promise<readonly LookupAddress[]>>();

  constructor(resolve: (name: string) => Promise<readonly LookupAddress[]>) {
    this.#resolve = resolve;
  }

  /** @param owner undefined: all are of one, who is nobody else's */
  of(name: string, owner?: string): Promise<readonly LookupAddress[]> {
    const key = `${owner ?? ""} ${name}`;
    const before = this.#asked.get(key);
    if (before !== undefined) return before;
    const asked = turns.run(owner ?? this, () => this.#resolve(name)).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }
}

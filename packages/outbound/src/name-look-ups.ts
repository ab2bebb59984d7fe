import type { LookupAddress } from "node:dns";
import { FairTurns } from "@bunting/runtime";

/**
 * Places for look-ups, of all guards of this process. A look-up holds one of the four threads on which node reads files and packs, for as long as a
 * name server is silent: look-ups of others' choosing may never hold all of the threads, and those of one owner never both places.
 */
const turns = new FairTurns(2);

/** @param owner undefined: all are of one, who is nobody else's */
export type LookUpName = (name: string, owner?: string) => Promise<readonly LookupAddress[]>;

/** Look-ups of names, in which owners take turns. A name that an owner asks for again meanwhile is looked up once. */
export function nameLookUps(resolve: (name: string) => Promise<readonly LookupAddress[]>): LookUpName {
  const nobody = {};
  /** Look-ups that wait or are under way, by owner and name. */
  const underWay = new Map<string, Promise<readonly LookupAddress[]>>();
  return (name, owner) => {
    const key = `${owner ?? ""} ${name}`;
    const before = underWay.get(key);
    if (before !== undefined) return before;
    const asked = turns.run(owner ?? nobody, () => resolve(name)).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };
}

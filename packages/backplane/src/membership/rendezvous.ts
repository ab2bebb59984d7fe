import { hashText, mixBits } from "../hash-text.js";

/**
 * Rendezvous hashing: the owner of a thing is the member whose name, hashed with the name of the thing, gives the highest number.
 * Replicas that know the same members agree on the owner. When a member joins or leaves, only its own things move.
 */
export class Rendezvous {
  readonly #members: readonly { readonly member: string; readonly hash: number }[];

  constructor(members: readonly string[]) {
    // In one order: of two that draw level, all replicas take the same.
    this.#members = [...new Set(members)].sort().map((member) => ({ member, hash: hashText(member) }));
  }

  /** Undefined without members. */
  ownerOf(name: string): string | undefined {
    const hash = hashText(name);
    let owner: string | undefined;
    let highest = -1;
    for (const one of this.#members) {
      const weight = mixBits(mixBits(hash ^ one.hash) + one.hash);
      if (weight > highest) [owner, highest] = [one.member, weight];
    }
    return owner;
  }
}

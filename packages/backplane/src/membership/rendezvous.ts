import { hashText, mixBits } from "../hash-text.js";

/**
 * The replica that should own something: of all replicas, the one whose name, mixed with that of the thing, gives the highest number.
 * Every replica that knows the same members comes to the same result, and when one joins or leaves only what it gets or had moves.
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

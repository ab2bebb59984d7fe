import { expect } from "chai";

/** Fails unless `seen` is a subsequence of `history`. */
export function expectSubsequence(seen: readonly string[], history: readonly string[]): void {
  let at = 0;
  for (const one of seen) {
    const found = history.indexOf(one, at);
    expect(found, `${seen.join(" ")} is no subsequence of ${history.join(" ")}`).to.be.at.least(at);
    at = found + 1;
  }
}

import { expect } from "chai";
import { ConvergenceHistory } from "./convergence-history.js";

describe("ConvergenceHistory", () => {
  function useHistory() {
    let ms = 1_700_000_000_000;
    const history = new ConvergenceHistory(() => ms);
    return { history, advance: (byMs: number) => (ms += byMs) };
  }

  it("keeps the slowest version and the most late subscribers of each step", () => {
    const { history, advance } = useHistory();
    history.published();
    history.converged(0.5, 2);
    history.converged(0.5, 1);
    history.late(3);
    history.late(2);
    advance(5_000);
    history.published();
    history.published();
    history.converged(1, 40);
    const { published, halfMs, allMs, late } = history.read();
    expect(published.slice(-3)).to.deep.equal([0, 1, 2]);
    expect(halfMs.slice(-3)).to.deep.equal([-1, 2, -1]);
    expect(allMs.slice(-3)).to.deep.equal([-1, -1, 40]);
    expect(late.slice(-3)).to.deep.equal([0, 3, 0]);
  });

  it("forgets after ten minutes, also if nothing was recorded meanwhile", () => {
    const { history, advance } = useHistory();
    history.published();
    advance(595_000);
    expect(history.read().published[0]).to.equal(1);
    advance(5_000);
    expect(history.read().published.every((count) => count === 0)).to.equal(true);
    history.published();
    advance(24 * 3_600_000);
    expect(history.read().published.every((count) => count === 0)).to.equal(true);
    expect(history.read().published).to.have.lengthOf(120);
  });
});

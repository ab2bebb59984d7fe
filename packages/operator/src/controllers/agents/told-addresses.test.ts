import { expect } from "chai";
import type { AgentsOfAddress } from "@bunting/protocol";
import { toldAddresses } from "./told-addresses.js";

const one = (address: string, subscriptions: number, current: number): AgentsOfAddress => ({
  ...{ address, subscriptions, current },
});

describe("toldAddresses", () => {
  it("adds up what the proxies have from an address", () => {
    const told = toldAddresses([
      [one("a", 1, 1), one("b", 2, 1)],
      [one("a", 1, 0), one("b", 0, 0)],
      "nobody",
    ]);
    expect(told.kind === "told" && [...told.agents.values()]).to.deep.equal([one("a", 2, 1), one("b", 2, 1)]);
  });

  it("knows nothing while one does not say it that may have them", () => {
    expect(toldAddresses([[one("a", 1, 1)], "unknown"])).to.deep.equal({ kind: "unknown" });
    expect(toldAddresses([[one("a", 1, 1)], "silent"]), "of another version").to.deep.equal({
      kind: "unknown",
    });
    expect(toldAddresses(["nobody"]), "none serves anybody").to.deep.equal({ kind: "unknown" });
  });

  it("expects nothing where no proxy can say it", () => {
    expect(toldAddresses(["silent", "silent"])).to.deep.equal({ kind: "silent" });
    expect(toldAddresses(["absent"]), "there is none yet").to.deep.equal({ kind: "silent" });
    expect(toldAddresses([]), "there is none").to.deep.equal({ kind: "silent" });
  });
});

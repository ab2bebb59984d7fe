import { expect } from "chai";
import { DocumentLedger } from "./document-ledger.js";

describe("DocumentLedger", () => {
  /** Takes as much as a namespace may have, in steps. */
  const fill = (ledger: DocumentLedger, namespace: string): number => {
    let taken = 0;
    for (; ledger.hasRoom(`${namespace}/a`, 10); taken += 10) ledger.add(`${namespace}/a`, 10);
    return taken;
  };

  it("lets a namespace alone have two thirds, and leaves something for each that comes after, however many there are", () => {
    const ledger = new DocumentLedger(9_000);
    expect(fill(ledger, "first")).to.equal(6_000);
    expect(fill(ledger, "second")).to.equal(2_000);
    for (let next = 0; next < 5; next++) expect(fill(ledger, `other-${next}`)).to.be.greaterThan(0);
  });

  it("takes what is not larger than before, even if there is no room, and has room again for what is given back", () => {
    const ledger = new DocumentLedger(9_000);
    fill(ledger, "shop");
    expect(ledger.hasRoom("shop/a", 0)).to.equal(true);
    expect(ledger.hasRoom("shop/b", 1)).to.equal(false);
    ledger.add("shop/a", -6_000);
    expect(ledger.hasRoom("shop/b", 6_000)).to.equal(true);
  });

  it("tells those that wait, once each and in their order, when there is memory for all that it has told", async () => {
    const ledger = new DocumentLedger(9_000);
    const told: string[] = [];
    const waiting = (name: string, moreBytes: number) => ({
      topic: `shop/${name}` as const,
      moreBytes,
      onRoom: () => void told.push(name),
    });
    ledger.add("shop/held", 6_000);
    const gone = waiting("gone", 10);
    for (const version of [waiting("large", 5_000), waiting("first", 900), gone, waiting("second", 900)])
      ledger.wait(version);
    ledger.stopWaiting(gone);
    ledger.add("shop/held", -1_000);
    await Promise.resolve();
    expect(told, "one of 900 fits, and not another beside it").to.deep.equal(["first"]);
    ledger.add("shop/first", 900);
    ledger.add("shop/held", -5_000);
    await Promise.resolve();
    expect(told).to.deep.equal(["first", "large"]);
    ledger.add("shop/first", -900);
    await Promise.resolve();
    expect(told).to.deep.equal(["first", "large", "second"]);
  });
});

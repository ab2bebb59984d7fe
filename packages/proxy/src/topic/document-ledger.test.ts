import { expect } from "chai";
import { DocumentLedger, type WaitingVersion } from "./document-ledger.js";

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

  it("tells those that wait, once each and in their order, and keeps the memory free for those that it has told", async () => {
    const ledger = new DocumentLedger(9_000);
    const told: string[] = [];
    const waiting = (name: string, moreBytes: number): WaitingVersion => ({
      topic: `shop/${name}`,
      moreBytes,
      onRoom: () => void told.push(name),
    });
    const turn = (): Promise<void> => Promise.resolve();
    ledger.add("shop/held", 6_000);
    const [large, first, gone, second] = [
      waiting("large", 5_000),
      waiting("first", 900),
      waiting("gone", 10),
      waiting("second", 900),
    ] as const;
    for (const version of [large, first, gone, second]) ledger.wait(version);
    ledger.stopWaiting(gone);
    ledger.add("shop/held", -1_000);
    await turn();
    expect(told, "one of 900 fits, and not another beside it").to.deep.equal(["first"]);
    // It was refused for another reason: the next one is told.
    ledger.stopWaiting(first);
    await turn();
    expect(told).to.deep.equal(["first", "second"]);
    ledger.stopWaiting(second);
    ledger.add("shop/second", 900);
    ledger.add("shop/held", -5_000);
    await turn();
    expect(told).to.deep.equal(["first", "second", "large"]);
    ledger.stopWaiting(large);
    ledger.add("shop/second", -900);
    expect(fill(ledger, "shop"), "nothing is kept free any more").to.equal(6_000);
  });

  it("tells as many of other namespaces as there is memory for, however many wait", async () => {
    const ledger = new DocumentLedger(9_000);
    const told: string[] = [];
    ledger.add("shop/held", 6_000);
    ledger.add("other/held", 2_000);
    for (let i = 0; i < 10; i++)
      ledger.wait({ topic: `n${i}/a`, moreBytes: 700, onRoom: () => void told.push(`n${i}`) });
    ledger.add("shop/held", -6_000);
    await Promise.resolve();
    expect(told.length, "of 7,000 free, so that the last holds at most twice what is left").to.equal(9);
  });
});

import { expect } from "chai";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { DocumentLedger } from "./document-ledger.js";
import { TopicMemory } from "./topic-memory.js";

describe("TopicMemory", () => {
  const nothing = (): void => undefined;

  /** The smallest ledger, to a hundred bytes, in which a namespace alone may hold a flag with this text. */
  const needed = (text: string): number => {
    const bytes = encodeSnapshot({ flags: { a: { note: text } } });
    for (let most = 0; ; most += 100)
      if (new TopicMemory("shop/a", new DocumentLedger(most), nothing).admits(bytes)) return most / 1.5;
  };

  it("counts the frames of a text beside the heap, and on the heap twice as much for characters beyond Latin-1", () => {
    const [ascii, wide] = [needed("x".repeat(10_000)), needed(`${"x".repeat(9_997)}\u{2192}`)];
    expect(ascii).to.be.within(30_000, 31_000);
    expect(wide).to.be.within(40_000, 41_000);
  });

  it("gives all back to the ledger that it counted", () => {
    const ledger = new DocumentLedger(3_000);
    const memory = new TopicMemory("shop/a", ledger, nothing);
    for (const note of ["a", "bb", "\u{2192}"]) memory.hold(encodeSnapshot({ flags: { a: { note } } }));
    expect(ledger.hasRoom("shop/b", 1_900)).to.equal(false);
    memory.close();
    expect(ledger.hasRoom("shop/b", 1_900)).to.equal(true);
  });
});

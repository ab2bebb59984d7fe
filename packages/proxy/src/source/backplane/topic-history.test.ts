import { expect } from "chai";
import type { WatchReport } from "./known.js";
import { TopicHistory } from "./topic-history.js";

const report = (resourceVersion: string): WatchReport => ({
  kind: "document",
  document: { flags: {} },
  version: { resourceVersion, noticedMs: 0 },
});

describe("TopicHistory", () => {
  it("lets a read decide between two reports, and ignores one that was given up with its watch", () => {
    const history = new TopicHistory(() => undefined);
    expect(history.place(report("87"), 1)).to.equal(true);
    expect(history.place(report("50"), 1), "an older version").to.equal(false);
    const reads: (() => void)[] = [];
    const deciding = {
      read: (done: () => void) => reads.push(done),
      report: () => report("50"),
      fence: () => 1,
    };
    history.decide(deciding);
    history.decide(deciding);
    expect([reads.length, history.isVerifying], "one read at a time").to.deep.equal([1, true]);
    history.cancelDecision();
    expect(history.isVerifying).to.equal(false);
    reads[0]?.();
    expect(history.newest?.resourceVersion).to.equal("87");
    history.decide({ ...deciding });
    reads[0]?.();
    expect(history.isVerifying, "the first read says nothing of the second").to.equal(true);
    reads[1]?.();
    expect([history.isVerifying, history.newest?.resourceVersion]).to.deep.equal([false, "50"]);
  });

  it("moves only a state that was reported without Redis to the epoch of the first record", () => {
    const history = new TopicHistory(() => undefined);
    history.place(report("87"), 0);
    history.continueIn(3);
    history.continueIn(4);
    expect(history.newest?.epoch).to.equal(3);
  });
});

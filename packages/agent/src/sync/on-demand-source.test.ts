import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { OnDemandSource } from "./on-demand-source.js";
import { grpcConfig, SourceProbe } from "./sync.fixture.js";

describe("OnDemandSource", () => {
  it("loads its code again, and does not call it a bug that there was no descriptor for it", async () => {
    const clock = new ManualClock();
    const probe = new SourceProbe(clock);
    const abort = new AbortController();
    const errors = [
      Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" }),
      new TypeError("no function"),
    ];
    const seen: (string | undefined)[] = [];
    const source = new OnDemandSource(grpcConfig("127.0.0.1:1"), probe.options, async () => {
      seen.push(source.status().error);
      const error = errors.shift();
      if (error !== undefined) throw error;
      abort.abort();
      return Promise.resolve();
    });
    const ended = source.run(abort.signal);
    while (!abort.signal.aborted) {
      await new Promise(setImmediate);
      clock.advance(60_000);
    }
    await ended;
    expect(seen).to.deep.equal([
      undefined,
      "the source stopped: EMFILE: too many open files",
      "the source stopped because of a bug in Bunting: TypeError: no function",
    ]);
  });
});

import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { ExtensionRetries } from "./extension-retries.js";

describe("ExtensionRetries", () => {
  let clock: ManualClock;
  let looked: string[];
  let retries: ExtensionRetries;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    looked = [];
    retries = new ExtensionRetries({
      lookAgain: (namespace) => looked.push(namespace),
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics() },
    });
    abort = new AbortController();
    running = retries.run(abort.signal);
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  async function passes(ms: number): Promise<void> {
    clock.advance(ms);
    await nextTurn();
    await nextTurn();
  }

  it("has a namespace looked at again after 10 s, and later and later, up to 5 min", async () => {
    for (const waitMs of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      retries.failed("shop", "Sidecar");
      await passes(waitMs - 1);
      expect(looked).to.deep.equal([]);
      await passes(1);
      expect(looked.splice(0)).to.deep.equal(["shop"]);
    }
  });

  it("begins anew after a success", async () => {
    retries.failed("shop", "Sidecar");
    retries.failed("shop", "Sidecar");
    retries.succeeded("shop", "Sidecar");
    await passes(300_000);
    expect(looked).to.deep.equal([]);
    retries.failed("shop", "Sidecar");
    await passes(10_000);
    expect(looked).to.deep.equal(["shop"]);
  });

  it("looks again at a namespace of which one object was made since, and another not", async () => {
    retries.failed("shop", "Sidecar");
    retries.succeeded("shop", "Service shop/flags");
    await passes(10_000);
    expect(looked.splice(0)).to.deep.equal(["shop"]);
    retries.failed("shop", "Sidecar");
    retries.succeeded("shop", "Service shop/flags");
    await passes(19_999);
    expect(looked).to.deep.equal([]);
    await passes(1);
    expect(looked).to.deep.equal(["shop"]);
  });

  it("forgets an object of which nothing is heard any more", async () => {
    retries.failed("shop", "Service shop/gone");
    await passes(10_000);
    retries.failed("shop", "Sidecar");
    await passes(10_000);
    expect(looked.splice(0)).to.deep.equal(["shop", "shop"]);
    retries.succeeded("shop", "Sidecar");
    retries.recovered();
    await passes(0);
    expect(looked).to.deep.equal([]);
  });

  it("forgets a namespace that is gone", async () => {
    retries.failed("shop", "Sidecar");
    retries.forget("shop");
    retries.recovered();
    await passes(10_000);
    expect(looked).to.deep.equal([]);
  });

  it("has all of them looked at when an extension has recovered", async () => {
    retries.failed("shop", "Sidecar");
    retries.failed("bank", "Sidecar");
    retries.recovered();
    await passes(0);
    expect(looked).to.deep.equal(["shop", "bank"]);
  });
});

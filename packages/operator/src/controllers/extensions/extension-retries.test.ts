import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { ExtensionRetries } from "./extension-retries.js";

describe("ExtensionRetries", () => {
  let clock: ManualClock;
  const failed = new Set(["qos"]);
  let looked: string[];
  let settled: string[];
  let retries: ExtensionRetries;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    looked = [];
    settled = [];
    retries = new ExtensionRetries({
      lookAgain: (namespace) => looked.push(namespace),
      onSettled: (extension) => settled.push(extension),
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
      retries.asked("shop", failed, "Sidecar");
      await passes(waitMs - 1);
      expect(looked).to.deep.equal([]);
      await passes(1);
      expect(looked.splice(0)).to.deep.equal(["shop"]);
    }
  });

  it("begins anew after a success", async () => {
    retries.asked("shop", failed, "Sidecar");
    retries.asked("shop", failed, "Sidecar");
    retries.asked("shop", new Set(), "Sidecar");
    await passes(300_000);
    expect(looked).to.deep.equal([]);
    retries.asked("shop", failed, "Sidecar");
    await passes(10_000);
    expect(looked).to.deep.equal(["shop"]);
  });

  it("looks again at a namespace of which one object was made since, and another not", async () => {
    retries.asked("shop", failed, "Sidecar");
    retries.asked("shop", new Set(), "Service shop/flags");
    await passes(10_000);
    expect(looked.splice(0)).to.deep.equal(["shop"]);
    retries.asked("shop", failed, "Sidecar");
    retries.asked("shop", new Set(), "Service shop/flags");
    await passes(19_999);
    expect(looked).to.deep.equal([]);
    await passes(1);
    expect(looked).to.deep.equal(["shop"]);
  });

  it("forgets an object of which nothing is heard any more, two minutes after it was looked at again", async () => {
    retries.asked("shop", failed, "Service shop/gone");
    await passes(10_000);
    expect(looked.splice(0)).to.deep.equal(["shop"]);
    await passes(119_999);
    expect(settled).to.deep.equal([]);
    await passes(1);
    expect(settled).to.deep.equal(["qos"]);
    retries.recovered();
    await passes(0);
    expect(looked).to.deep.equal([]);
  });

  it("tells that an extension is settled when nothing waits for it any more", async () => {
    retries.asked("shop", new Set(["qos", "notes"]));
    retries.asked("bank", failed);
    retries.asked("shop", failed);
    expect(settled).to.deep.equal(["notes"]);
    retries.asked("shop", new Set());
    await passes(10_000);
    expect(settled).to.deep.equal(["notes"]);
    retries.forget("bank");
    expect(settled).to.deep.equal(["notes", "qos"]);
  });

  it("lets go of all when another replica leads", async () => {
    retries.asked("shop", failed);
    retries.asked("bank", failed);
    abort.abort();
    await running;
    expect(settled).to.deep.equal(["qos"]);
  });

  it("forgets a namespace that is gone", async () => {
    retries.asked("shop", failed, "Sidecar");
    retries.forget("shop");
    retries.recovered();
    await passes(10_000);
    expect(looked).to.deep.equal([]);
  });

  it("has all of them looked at when an extension has recovered", async () => {
    retries.asked("shop", failed, "Sidecar");
    retries.asked("bank", failed, "Sidecar");
    retries.recovered();
    await passes(0);
    expect(looked).to.deep.equal(["shop", "bank"]);
  });
});

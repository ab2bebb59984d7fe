import { confirmAfterMs } from "@bunting/kube/pod";
import type { Clock } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { SourceState } from "../source-state.js";
import { SourceProbe } from "../sync.fixture.js";
import { FeatureFlagRecord } from "./feature-flag-record.js";

/** As those of node, which count from when its event loop has last looked at the time. */
const earlyMs = 0.5;

const config = {
  provider: "kubernetes",
  sourceIndex: 0,
  uri: "shop/flags",
  selector: "",
  namespace: "shop",
  name: "flags",
} as const;

describe("FeatureFlagRecord", () => {
  it("confirms a deletion also if the timer of its read fires a moment early", () => {
    const manual = new ManualClock();
    const clock: Clock = {
      now: () => manual.now(),
      monotonicMs: () => manual.monotonicMs(),
      after: (delayMs, callback) => manual.after(delayMs - earlyMs, callback),
    };
    const { options } = new SourceProbe(clock);
    const state = new SourceState(config, options);
    const read = (): void => record.absent("3", 1, clock.monotonicMs());
    const record = new FeatureFlagRecord({ config, options, state }, { cut: () => undefined }, read);
    record.offer({ metadata: { namespace: "shop", name: "flags" }, spec: {} }, "1", 1, true);
    record.gone("2", 1);
    manual.advance(2 * confirmAfterMs);
    expect(state.status().warning ?? "none").to.contain("was deleted");
    record.stop();
    expect(manual.pendingTimers).to.equal(0);
  });

  it("empties a deleted FeatureFlag at the end of its grace also if its source is begun anew within it", () => {
    const clock = new ManualClock();
    const probe = new SourceProbe(clock);
    const deletion = { policy: "empty", graceMs: 60_000 } as const;
    const options = { ...probe.options, deletion };
    const begin = (): FeatureFlagRecord => {
      const state = new SourceState(config, options);
      return new FeatureFlagRecord({ config, options, state }, { cut: () => undefined }, () => undefined);
    };
    const flags = { metadata: { namespace: "shop", name: "flags" }, spec: {} };
    const first = begin();
    first.offer(flags, "1", 1, true);
    first.gone("2", 1);
    clock.advance(confirmAfterMs);
    first.absent("3", 1, clock.monotonicMs());
    clock.advance(59_999);
    first.stop();
    const second = begin();
    second.absent("4", 1, clock.monotonicMs());
    second.absent("5", 1, clock.monotonicMs());
    expect(probe.deliveries.size, "the document").to.equal(1);
    clock.advance(1);
    expect(probe.deliveries.size, "and the empty one").to.equal(2);
    second.offer(flags, "6", 1, true);
    second.stop();
    const third = begin();
    third.absent("7", 1, clock.monotonicMs());
    expect(clock.pendingTimers, "one that was there again is not known to be deleted").to.equal(0);
  });
});

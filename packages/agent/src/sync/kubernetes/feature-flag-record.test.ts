import { confirmAfterMs } from "@bunting/kube/pod";
import type { Clock } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { SourceState } from "../source-state.js";
import { SourceProbe } from "../sync.fixture.js";
import { FeatureFlagRecord } from "./feature-flag-record.js";

/** As those of node, which count from when its event loop has last looked at the time. */
const earlyMs = 0.5;

describe("FeatureFlagRecord", () => {
  it("confirms a deletion also if the timer of its read fires a moment early", () => {
    const manual = new ManualClock();
    const clock: Clock = {
      now: () => manual.now(),
      monotonicMs: () => manual.monotonicMs(),
      after: (delayMs, callback) => manual.after(delayMs - earlyMs, callback),
    };
    const { options } = new SourceProbe(clock);
    const config = {
      provider: "kubernetes",
      sourceIndex: 0,
      uri: "shop/flags",
      selector: "",
      namespace: "shop",
      name: "flags",
    } as const;
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
});

import { BackplaneError } from "@bunting/backplane";
import { expect } from "chai";
import { lateReasonOf } from "./backplane-report.js";

describe("lateReasonOf", () => {
  it("says how late edits come while announcements can't be read, in one line, and nothing while they can", () => {
    const failure = new BackplaneError("REDIS_TIMEOUT", "Redis did not answer\nwithin 5 s");
    const { reason = "" } = lateReasonOf(failure, 15_000);
    expect(reason).to.contain("edits of others come up to 15 s late: Redis did not answer");
    expect(reason).not.to.contain("\n");
    expect(lateReasonOf(undefined, 15_000)).to.deep.equal({});
  });
});

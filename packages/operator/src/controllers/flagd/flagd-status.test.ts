import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import { KubeError, type ApplyOptions, type KubeObject } from "@bunting/kube";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { FlagdOutcome } from "./flagd-outcome.js";
import { FlagdStatus, type StoredFlagd } from "./flagd-status.js";

const { signal } = new AbortController();
const flagd = {
  apiVersion: openFeatureApiVersion,
  kind: "Flagd",
  metadata: { name: "sample", namespace: "shop", generation: 3 },
  spec: { featureFlagSource: "end-to-end" },
} as StoredFlagd;
const refused = (reason: string): FlagdOutcome => ({
  kind: "refused",
  problem: { reason, message: "it is not served" },
});

describe("FlagdStatus", () => {
  let clock: ManualClock;
  let written: { readonly object: KubeObject; readonly options: ApplyOptions }[];
  let fault: KubeError | undefined;
  /** As the definition of the open-feature-operator does with the fields of a status. */
  let drops: boolean;
  let status: FlagdStatus;

  beforeEach(() => {
    clock = new ManualClock();
    written = [];
    fault = undefined;
    drops = false;
    const apply = (_scope: unknown, object: object, options: ApplyOptions): Promise<KubeObject> => {
      written.push({ object: object as KubeObject, options });
      const stored = drops ? { ...object, status: {} } : object;
      return fault === undefined ? Promise.resolve(stored as KubeObject) : Promise.reject(fault);
    };
    status = new FlagdStatus({ apply }, { clock, logger: recordingLogger() });
  });

  const conditions = (): KubeObject["conditions"] =>
    (written.at(-1)?.object["status"] as { conditions: readonly object[] }).conditions;

  it("is written as a field of our own", async () => {
    expect(await status.write(flagd, refused("NotFound"), signal)).to.equal(undefined);
    expect(written[0]?.options).to.include({ subresource: "status", force: true });
    expect(conditions()).to.have.nested.property("[0].reason", "NotFound");
    expect(written[0]?.object).to.not.have.property("spec");
  });

  it("is written again only after ten seconds", async () => {
    await status.write(flagd, refused("NotFound"), signal);
    clock.advance(4_000);
    expect(await status.write(flagd, refused("NoSources"), signal)).to.equal(6_000);
    expect(written).to.have.lengthOf(1);
    clock.advance(6_000);
    expect(await status.write(flagd, refused("NoSources"), signal)).to.equal(undefined);
    expect(conditions()).to.have.nested.property("[0].reason", "NoSources");
  });

  it("is written at once for a Flagd that was made anew", async () => {
    await status.write(flagd, refused("NotFound"), signal);
    const anew = { ...flagd, metadata: { ...flagd.metadata, uid: "2" } };
    await status.write(anew, refused("NotFound"), signal);
    expect(written).to.have.lengthOf(2);
  });

  it("is not written if it says so already", async () => {
    await status.write(flagd, refused("NotFound"), signal);
    const now = { ...flagd, status: { conditions: conditions() } } as StoredFlagd;
    clock.advance(60_000);
    expect(await status.write(now, refused("NotFound"), signal)).to.equal(undefined);
    expect(written).to.have.lengthOf(1);
  });

  it("is tried again after ten minutes where the type has none, and not before", async () => {
    drops = true;
    expect(await status.write(flagd, refused("NotFound"), signal)).to.equal(600_000);
    clock.advance(10_000);
    expect(await status.write(flagd, refused("NotFound"), signal)).to.equal(600_000);
    expect(written).to.have.lengthOf(1);
    drops = false;
    clock.advance(590_000);
    expect(await status.write(flagd, refused("NotFound"), signal)).to.equal(undefined);
    expect(written).to.have.lengthOf(2);
  });

  it("may find the Flagd deleted, and no other fault", async () => {
    fault = new KubeError("NOT_FOUND", "it is gone");
    expect(await status.write(flagd, refused("NotFound"), signal)).to.equal(undefined);
    fault = new KubeError("FORBIDDEN", "no");
    expect(await status.write(flagd, refused("NotFound"), signal).catch((error: unknown) => error)).to.equal(
      fault,
    );
  });
});

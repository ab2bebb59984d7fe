import { KubeError } from "@bunting/kube";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { newImage, podOf } from "../../upgrade/fleet.fixture.js";
import type { FleetPod } from "../../upgrade/fleet.js";
import { RefusedPods } from "./refused-pods.js";

describe("RefusedPods", () => {
  function useRefused(): { clock: ManualClock; refused: RefusedPods; known: (pod: FleetPod) => object } {
    const clock = new ManualClock();
    const refused = new RefusedPods(clock);
    const known = (pod: FleetPod): object => {
      const [{ isHeld, refusal } = pod] = refused.mark([pod]);
      return { isHeld, refusal };
    };
    return { clock, refused, known };
  }
  const pod = podOf("a");
  const denied = new KubeError("FORBIDDEN", 'admission webhook "images.example" denied the request:\n no');
  const free = { isHeld: undefined, refusal: undefined };

  it("remembers why an API server refuses a change, also while it is tried again", () => {
    const { clock, refused, known } = useRefused();
    const refusal = 'admission webhook "images.example" denied the request:  no';
    expect(refused.note(pod, denied)).to.equal(refusal);
    expect(known({ ...pod, resourceVersion: "2" }), "its status changes all the time").to.deep.equal({
      ...{ isHeld: true, refusal },
    });
    expect(refused.leftMs).to.equal(30_000);
    clock.advance(30_000);
    expect(known(pod)).to.deep.equal({ isHeld: false, refusal });
    expect(refused.leftMs).to.equal(Infinity);
    refused.changed(pod);
    expect(known(pod)).to.deep.equal(free);
  });

  it("waits for another version of a Pod that somebody else has changed, and calls that no refusal", () => {
    const { clock, refused, known } = useRefused();
    const conflict = new KubeError("CONFLICT", "the object has been modified");
    expect(refused.note(pod, conflict)).to.equal(undefined);
    expect(known(pod)).to.deep.equal({ isHeld: true, refusal: undefined });
    expect(known({ ...pod, resourceVersion: "2" })).to.deep.equal(free);
    refused.note(pod, conflict);
    clock.advance(30_000);
    expect(known(pod), "there is none").to.deep.equal(free);
  });

  it("forgets a Pod that has another image by now, or is gone", () => {
    const { refused, known } = useRefused();
    refused.note(pod, denied);
    expect(known(podOf("a", { image: newImage }))).to.deep.equal(free);
    refused.note(pod, denied);
    refused.mark([podOf("b")]);
    expect(known(pod)).to.deep.equal(free);
  });

  it("keeps no text without end", () => {
    const { refused } = useRefused();
    expect(refused.note(pod, new KubeError("INVALID", "x".repeat(100_000)))).to.have.lengthOf(400);
  });
});

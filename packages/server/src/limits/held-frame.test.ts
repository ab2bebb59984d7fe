import { expect } from "chai";
import { HeldFrame, type FrameHolder } from "@bunting/http2";
import { PeerMemory } from "./peer-memory.js";

const frameBytes = 1_000_000;

describe("HeldFrame", () => {
  let memory: PeerMemory;
  let held: HeldFrame;

  beforeEach(() => {
    memory = new PeerMemory(Number.POSITIVE_INFINITY);
    held = new HeldFrame(frameBytes);
  });

  function stream(): FrameHolder {
    return { session: { account: memory.open(() => undefined) } };
  }

  it("is charged to nobody while it is the newest, and once when it is old, however many have not taken it", () => {
    const [first, second] = [stream(), stream()];
    const idleBytes = memory.bytes;
    held.hold(first);
    held.hold(second);
    expect(memory.bytes).to.equal(idleBytes);
    held.supersede();
    expect(memory.bytes).to.equal(idleBytes + frameBytes);
    held.release(first);
    expect(memory.bytes, "the second one's now").to.equal(idleBytes + frameBytes);
    held.release(second);
    expect(memory.bytes).to.equal(idleBytes);
    expect(held.isHeld).to.equal(false);
  });
});

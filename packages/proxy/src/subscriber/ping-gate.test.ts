import { expect } from "chai";
import type { TransportSession } from "@bunting/rpc";
import { PingGate, type Gated } from "./ping-gate.js";

/** A session whose peer answers a PING when the test says so. */
function useSession(peerWindowBytes = 1_000_000) {
  const outstanding: (() => void)[] = [];
  let isClosing = false;
  const session = {
    peerWindowBytes,
    ping: (onAck: () => void) => {
      expect(outstanding, "PINGs outstanding").to.have.length(0);
      if (!isClosing) outstanding.push(onAck);
      return !isClosing;
    },
  };
  return {
    session: session as unknown as TransportSession,
    get isPinging() {
      return outstanding.length > 0;
    },
    answer: () => outstanding.shift()?.(),
    close: () => (isClosing = true),
  };
}

class Waiter implements Gated {
  passed = 0;

  passGate(): void {
    this.passed++;
  }
}

describe("the PING gate", () => {
  it("is needed where the peer has a window of over 256 KB", () => {
    expect(PingGate.isNeeded(useSession(65_535).session)).to.be.false;
    expect(PingGate.isNeeded(useSession(262_144).session)).to.be.false;
    expect(PingGate.isNeeded(useSession(262_145).session)).to.be.true;
  });

  it("lets a stream pass with the answer to a PING sent after it came, and no sooner", () => {
    const use = useSession();
    const [first, second, third] = [new Waiter(), new Waiter(), new Waiter()];
    PingGate.of(use.session).wait(first);
    PingGate.of(use.session).wait(second);
    PingGate.of(use.session).wait(third);
    use.answer();
    expect([first, second, third].map(({ passed }) => passed)).to.deep.equal([1, 0, 0]);
    use.answer();
    expect([first, second, third].map(({ passed }) => passed)).to.deep.equal([1, 1, 1]);
    expect(use.isPinging).to.be.false;
  });

  it("makes a stream that returns while it opens wait for the next PING", () => {
    const use = useSession();
    const gate = PingGate.of(use.session);
    let passed = 0;
    const again: Gated = {
      passGate: () => {
        passed++;
        if (passed < 3) gate.wait(again);
      },
    };
    gate.wait(again);
    use.answer();
    expect(passed).to.equal(1);
    use.answer();
    use.answer();
    expect(passed).to.equal(3);
    expect(use.isPinging).to.be.false;
  });

  it("is open if the session can't be pinged any more", () => {
    const use = useSession();
    const [before, after] = [new Waiter(), new Waiter()];
    PingGate.of(use.session).wait(before);
    use.close();
    PingGate.of(use.session).wait(after);
    use.answer();
    expect([before.passed, after.passed]).to.deep.equal([1, 1]);
  });
});

import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { TopicAcks, type FlagRejection } from "./topic-acks.js";

const maxPerConnection = 20;
/** What stands for all that there is no room for. */
const unlisted = { flag: undefined, reason: "more than can be listed" };

function useAcks() {
  const clock = new ManualClock();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const acks = new TopicAcks("demo/flags", clock, new RateLimitedLog(logger, clock));
  /** An agent refuses a flag, and nothing before. */
  const refuse = (connection: object, flag: string): FlagRejection | undefined => {
    const [rejection] = acks.refuse(connection, "d", [{ flag, reason: "no" }], new Set());
    return rejection;
  };
  /** An agent does not refuse it any more. */
  const release = (rejection: FlagRejection): void => void acks.refuse({}, "d", [], new Set([rejection]));
  return { acks, refuse, release };
}

describe("TopicAcks", () => {
  it("gives a connection its place back when nobody upholds what it has brought up, not when the first agent no longer does", () => {
    const { refuse, release } = useAcks();
    const [first, other] = [{}, {}];
    const refused = Array.from({ length: maxPerConnection }, (_, index) => refuse(first, `f${index}`));
    const [shared] = refused;
    if (shared === undefined) throw new Error("there was room");
    expect(refuse(other, "f0"), "another agent refuses the same").to.equal(shared);
    expect(refuse(first, "one more")).to.include(unlisted);
    release(shared);
    expect(shared.subscribers).to.equal(1);
    expect(refuse(first, "one more")).to.include(unlisted);
    release(shared);
    expect(refuse(first, "one more")?.flag).to.equal("one more");
    expect(refuse(first, "and another")).to.include(unlisted);
  });

  it("counts against a connection what it brings up again once nobody upholds it: by turns it would take all places", () => {
    const { acks, refuse, release } = useAcks();
    const connection = {};
    const refused = Array.from({ length: maxPerConnection }, (_, index) => refuse(connection, `f${index}`));
    for (const one of refused) if (one !== undefined) release(one);
    for (let made = 0; made < maxPerConnection; made++)
      expect(refuse(connection, `g${made}`)?.flag).to.equal(`g${made}`);
    expect(refuse(connection, "f0")).to.include(unlisted);
    expect(refuse({}, "f0")?.flag, "of another connection").to.equal("f0");
    expect([...acks.rejections].filter(({ subscribers }) => subscribers > 0)).to.have.length(21);
  });

  it("counts who refuses more than there is room for, however few make that up, and forgets it with the last one", () => {
    const { acks, refuse, release } = useAcks();
    for (let made = 0; made < 100; made++)
      refuse([{}, {}, {}, {}, {}][Math.floor(made / maxPerConnection)] ?? {}, `f${made}`);
    const honest = [refuse({}, "g"), refuse({}, "h")];
    expect([...acks.rejections].some(({ flag }) => flag === "g")).to.equal(false);
    expect([...acks.unlisted]).to.deep.equal([{ ...unlisted, digest: "d", subscribers: 2 }]);
    expect(acks.refusing).to.equal(102);
    for (const one of honest) if (one !== undefined) release(one);
    expect([...acks.unlisted]).to.deep.equal([]);
  });
});

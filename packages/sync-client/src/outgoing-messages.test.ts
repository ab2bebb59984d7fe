import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { maxOvertaken, OutgoingMessages } from "./outgoing-messages.js";

describe("OutgoingMessages", () => {
  it("sends one message at a time, then the newest of those that waited", () => {
    const { outgoing, send, written, takeOne } = useOutgoing();
    for (const text of ["hello", "a", "b", "c"]) send(text);
    expect(written).to.deep.equal(["hello"]);
    takeOne();
    expect(written).to.deep.equal(["hello", "c"]);
    takeOne();
    expect(written).to.deep.equal(["hello", "c"]);
    send("d");
    expect(written).to.deep.equal(["hello", "c", "d"]);
    expect(outgoing.isStuck).to.equal(false);
  });

  it("sends what was added to an answer after it, the latest of it, unless both are overtaken", () => {
    const { add, send, written, takeOne } = useOutgoing();
    for (const step of [() => add("a"), () => send("b"), () => add("b1"), () => add("b2")]) step();
    for (let message = 0; message < 3; message++) takeOne();
    expect(written).to.deep.equal(["a", "b", "b2"]);
    for (const step of [() => send("c"), () => add("c1"), () => send("d"), () => add("d1")]) step();
    takeOne();
    expect(written.slice(3)).to.deep.equal(["c", "d"]);
    send("e");
    takeOne();
    expect(written.slice(3)).to.deep.equal(["c", "d", "e"]);
  });

  it("is stuck once many answers were overtaken while none was taken", () => {
    const { outgoing, send, takeOne } = useOutgoing();
    for (let i = 0; i < maxOvertaken + 1; i++) send("x");
    expect(outgoing.isStuck).to.equal(false);
    send("x");
    expect(outgoing.isStuck).to.equal(true);
    takeOne();
    expect(outgoing.isStuck).to.equal(false);
  });

  it("counts anew what is overtaken once one was taken: a slow proxy is not stuck for all answers together", () => {
    const { outgoing, send, takeOne } = useOutgoing();
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < maxOvertaken - 4; i++) send("x");
      expect(outgoing.isStuck, `round ${round}`).to.equal(false);
      takeOne();
    }
  });

  it("is stuck if a second message has to wait for a minute after the first, not if the first is slow alone", () => {
    const { outgoing, send, times } = useOutgoing();
    send("x");
    times.nowMs = 60_000;
    expect(outgoing.isStuck).to.equal(false);
    send("y");
    expect(outgoing.isStuck).to.equal(true);
  });
});

function useOutgoing() {
  const written: string[] = [];
  const times = { nowMs: 0 };
  const callbacks: (() => void)[] = [];
  const outgoing = new OutgoingMessages(
    (message, taken) => {
      written.push(message.toString());
      callbacks.push(taken);
    },
    { ...systemClock, monotonicMs: () => times.nowMs },
  );
  return {
    outgoing,
    written,
    times,
    send: (text: string) => outgoing.send(Buffer.from(text)),
    add: (text: string) => outgoing.add(Buffer.from(text)),
    takeOne: () => callbacks.shift()?.(),
  };
}

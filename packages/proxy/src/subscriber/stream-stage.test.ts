import { expect } from "chai";
import { nextStage, nextWrite, type StageEvent, type StreamStage, type WriterState } from "./stream-stage.js";

describe("the stage of an agent's stream", () => {
  const stages: readonly StreamStage[] = ["arriving", "admitted", "serving", "ended"];
  const after: Readonly<Record<StageEvent, string>> = {
    //         arriving   admitted   serving    ended
    admit: "   admitted   admitted   serving    ended ",
    hello: "   arriving   serving    violation  ended ",
    request: " arriving   violation  serving    ended ",
    end: "     ended      ended      ended      ended ",
  };

  for (const event of Object.keys(after) as StageEvent[]) {
    it(`goes on by ${event} as the protocol says`, () => {
      const reached = stages.map((stage) => nextStage(stage, event));
      expect(reached).to.deep.equal(after[event].trim().split(/ +/));
    });
  }
});

describe("what an agent's stream writes next", () => {
  interface Due {
    readonly state?: WriterState;
    readonly notice?: boolean;
    readonly error?: boolean;
    readonly topic?: boolean;
    readonly isDraining?: boolean;
    readonly isBehind?: boolean;
  }
  const all = { notice: true, error: true, topic: true, isDraining: true } as const;
  const rows: readonly [what: string, write: ReturnType<typeof nextWrite>, due: Due][] = [
    ["is nothing while a message is being written", "nothing", { ...all, state: "writing" }],
    ["is nothing after the end", "nothing", { ...all, state: "closed" }],
    ["is nothing if nothing is due", "nothing", {}],
    ["is a notice about the stream before all else", "notice", all],
    ["is an error before what topics have", "error", { ...all, notice: false }],
    ["is what a topic has", "topic", { topic: true }],
    ["is what a topic has before the end", "topic", { topic: true, isDraining: true }],
    ["is the end of a stream that drains", "end", { isDraining: true }],
    [
      "is nothing while a topic is behind, although the stream drains",
      "nothing",
      { isDraining: true, isBehind: true },
    ],
    ["is nothing for a topic that is behind", "nothing", { isBehind: true }],
  ];
  for (const [what, write, due] of rows) {
    it(what, () => {
      const { state = "idle", notice = false, error = false, topic = false } = due;
      const { isDraining = false, isBehind = false } = due;
      expect(nextWrite(state, notice, error, { hasDue: topic, isBehind }, isDraining)).to.equal(write);
    });
  }
});

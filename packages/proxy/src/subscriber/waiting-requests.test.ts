import type { TransportStream } from "@bunting/rpc";
import { PeerMemory } from "@bunting/server";
import { expect } from "chai";
import type { AgentRequest } from "./agent-request.js";
import { WaitingRequests } from "./waiting-requests.js";

describe("the requests of an agent that wait", () => {
  function useRequests() {
    const account = new PeerMemory(Number.POSITIVE_INFINITY).open(() => undefined);
    let pauses = 0;
    const stream = { session: { account }, pauseReading: () => (pauses += 1) } as unknown as TransportStream;
    const before = account.bytes;
    return {
      waiting: new WaitingRequests(stream),
      chargedBytes: () => account.bytes - before,
      pauses: () => pauses,
    };
  }

  const unsubscribe: AgentRequest = { $case: "unsubscribe", value: { topic: "demo/flags" } };
  const ack = (flags: number): AgentRequest => ({
    $case: "ack",
    value: {
      topic: "demo/flags",
      number: "1",
      digest: Buffer.alloc(32),
      rejectedFlags: Array.from({ length: flags }, () => ({ key: "", reason: "" })),
    },
  });

  it("come in order, and are charged until they are taken", () => {
    const { waiting, chargedBytes } = useRequests();
    waiting.add(unsubscribe, 20);
    waiting.add(ack(0), 60);
    expect(chargedBytes()).to.equal(20 + 60 + 2 * 128);
    expect(waiting.take()).to.equal(unsubscribe);
    expect(chargedBytes()).to.equal(60 + 128);
    waiting.clear();
    expect([waiting.take(), waiting.size, chargedBytes()]).to.deep.equal([undefined, 0, 0]);
  });

  it("are charged for each flag that they name: a flag of two bytes is an object here", () => {
    const { waiting, chargedBytes } = useRequests();
    waiting.add(ack(500), 1_060);
    expect(chargedBytes()).to.equal(1_060 + 128 + 500 * 64);
  });

  it("stop the stream when they are 64, or one is large", () => {
    const { waiting, pauses } = useRequests();
    for (let count = 1; count < 64; count++) waiting.add(unsubscribe, 1_024);
    expect(pauses()).to.equal(0);
    waiting.add(unsubscribe, 20);
    expect(pauses()).to.equal(1);
    const large = useRequests();
    large.waiting.add(unsubscribe, 1_025);
    expect(large.pauses()).to.equal(1);
  });
});

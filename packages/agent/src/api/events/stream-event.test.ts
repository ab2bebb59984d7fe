import { evaluationV2 } from "@bunting/protocol";
import { framePrefixBytes } from "@bunting/rpc";
import { expect } from "chai";
import { configurationChange } from "./stream-event.js";

/** The messages in the frames. */
function messages(frames: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < frames.length; at += framePrefixBytes + (found.at(-1)?.length ?? 0))
    found.push(frames.subarray(at + framePrefixBytes, at + framePrefixBytes + frames.readUInt32BE(at + 1)));
  return found;
}

describe("a configuration_change", () => {
  it("of so many flags that clients would refuse the message is several, in both codecs", () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => `namespace.team.service.flag-${index}`);
    const event = configurationChange(new Map(keys.map((key) => [key, "update"])));
    const proto = messages(event.frame("proto"));
    expect(proto.length).to.be.greaterThan(2);
    const named = proto.flatMap((message) =>
      Object.keys(evaluationV2.EventStreamResponse.decode(message).data?.["flags"] as object),
    );
    expect(named).to.have.members(keys);
    const json = messages(event.frame("json")).map(
      (message) => JSON.parse(message.toString()) as { type: string; data: { flags: object } },
    );
    expect(json.flatMap(({ data }) => Object.keys(data.flags))).to.have.members(keys);
    for (const { type } of json) expect(type).to.equal("configuration_change");
    for (const message of [...proto, ...messages(event.frame("json"))])
      expect(message.length).to.be.lessThan(2_000_000);
  });
});

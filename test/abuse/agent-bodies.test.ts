import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent } from "./support/attacked-agent.js";
import { prefixed, requestFrames } from "./support/hostile-peer.js";

const resolve = "/flagd.evaluation.v1.Service/ResolveBoolean";

/** Bodies that take far more memory than they have bytes; of 1 MB, as many as are allowed. */
const bodies: Readonly<Record<string, string>> = {
  brackets: "[".repeat(990_000),
  "objects in objects": '{"a":'.repeat(190_000),
  "empty lists": `{"context":{"a":[${"[],".repeat(320_000)}0]}}`,
  "empty objects": `{"context":{"a":[${"{},".repeat(320_000)}0]}}`,
  "a number of 900,000 digits": `{"context":{"a":1${"0".repeat(900_000)}}}`,
};

/** What requests can do to the agent that are well-formed, or nearly. */
describe("an agent whose peers send hostile bodies", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  async function post(
    port: "ofrep" | "evaluation",
    path: string,
    body: string | Uint8Array,
  ): Promise<number> {
    const headers = { "content-type": typeof body === "string" ? "application/json" : "application/proto" };
    return (await fetch(agent.url(port, path), { method: "POST", headers, body })).status;
  }

  for (const [what, body] of Object.entries(bodies)) {
    it(`answers ${what}`, async () => {
      const statuses = new Set<number>();
      for (let index = 0; index < 3; index++) {
        statuses.add(await post("ofrep", "/ofrep/v1/evaluate/flags/on", body));
        statuses.add(await post("evaluation", resolve, body.replace("{", '{"flagKey":"on",')));
      }
      expect([...statuses]).to.deep.equal([400]);
      await agent.isWell();
    });
  }

  it("answers a context of 80,000 keys, and one of names that JavaScript gives a meaning", async () => {
    const keys = Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`k${index}`, 1]));
    const named =
      '{"context":{"__proto__":{"on":1},"constructor":{"prototype":{"x":1}}},"__proto__":{"context":1}}';
    for (const body of [JSON.stringify({ context: keys }), named])
      expect(await post("ofrep", "/ofrep/v1/evaluate/flags/on", body)).to.equal(200);
    await agent.isWell();
  });

  it("answers a Struct of 250,000 values with invalid_argument", async () => {
    const nothing = Buffer.of(0x0a, 0x02, 0x08, 0x00);
    const list = field(6, Buffer.concat(Array.from({ length: 240_000 }, () => nothing)));
    const entry = Buffer.concat([field(1, Buffer.from("a")), field(2, list)]);
    const message = Buffer.concat([field(1, Buffer.from("on")), field(2, field(1, entry))]);
    expect(await post("evaluation", resolve, message)).to.equal(400);
    await agent.isWell();
  });

  it("unpacks no more of a compressed message than a message may have", async () => {
    const unpackedBytes = 50_000_000;
    const bomb = prefixed(gzipSync(Buffer.alloc(unpackedBytes, 0x0a)));
    bomb[0] = 1;
    const peer = await agent.peer("evaluation");
    const sent: number[] = [];
    for (let index = 0; index < 50; index++) {
      const id = peer.takeStreamId();
      sent.push(id);
      await peer.send(
        requestFrames(id, resolve, { headers: { "grpc-encoding": "gzip" }, endsStream: false }),
      );
      for (let at = 0; at < bomb.length; at += 16_000)
        await peer.send(dataFrame(id, bomb.subarray(at, at + 16_000), at + 16_000 >= bomb.length));
    }
    await eventually(
      () => peer.isClosed || sent.every((id) => peer.ended.has(id) || peer.resets.has(id)),
      "all answers",
    );
    await agent.isWell(unpackedBytes * sent.length);
  });
});

function field(number: number, bytes: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.of((number << 3) | 2, ...length, rest), bytes]);
}

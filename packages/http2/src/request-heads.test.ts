import { expect } from "chai";
import { encodeHeaders } from "./hpack/header-encoder.js";
import { RequestHeads } from "./request-heads.js";
import type { RequestHead } from "./request-head.js";

describe("RequestHeads", () => {
  const blockOf = (more: Readonly<Record<string, string>> = {}): Buffer =>
    Buffer.from(
      encodeHeaders({ ":method": "GET", ":scheme": "http", ":path": "/", ":authority": "here", ...more }),
    );

  /** Takes a block as a session does. */
  function take(heads: RequestHeads, block: Buffer): RequestHead | undefined {
    const known = heads.known(block, 0, block.length);
    if (known !== undefined) return known;
    const list = heads.decode(block, 0, block.length);
    return list === undefined ? undefined : heads.headOf(list, block);
  }

  /** Of a connection that has had its first request. */
  function begun(maxBytes: number): RequestHeads {
    const heads = new RequestHeads(maxBytes, () => false);
    take(heads, blockOf({ "x-first": "1" }));
    return heads;
  }

  it("shares the head of equal first requests of gRPC among connections, unless they have a secret", () => {
    const isGrpc = (): boolean => true;
    const first = (block: Buffer, rule = isGrpc): RequestHead | undefined =>
      take(new RequestHeads(65_536, rule), block);
    const head = first(blockOf({ "x-b": " v " }));
    expect(head?.fields).to.include({ "x-b": "v" });
    expect(first(blockOf({ "x-b": " v " }))).to.equal(head);
    expect(first(blockOf({ "x-b": "w" }))?.fields).to.include({ "x-b": "w" });
    expect(first(blockOf({ "x-b": " v " }), () => true)).not.to.equal(head);
    const secret = blockOf({ authorization: "Bearer a" });
    expect(first(secret)).not.to.equal(first(secret));
    const plain = (): boolean => false;
    expect(first(blockOf(), plain)).not.to.equal(first(blockOf(), plain));
    for (let i = 0; i < 40; i++) first(blockOf({ "x-b": `${i}` }));
    expect(first(blockOf({ "x-b": " v " })), "when many others came since").not.to.equal(head);
  });

  it("decodes on alone on each connection whose first request it shared, with the table that this left", () => {
    const literal = (name: string, value: string): Buffer =>
      Buffer.concat([
        Buffer.of(0x40, name.length),
        Buffer.from(name),
        Buffer.of(value.length),
        Buffer.from(value),
      ]);
    const pseudo = Buffer.concat([Buffer.of(0x83, 0x86, 0x84), literal(":authority", "here")]);
    const newest = (number: number): Buffer => Buffer.of(0x83, 0x86, 0x84, 0x80 + 61 + number);
    const isGrpc = (): boolean => true;
    const [one, other] = [new RequestHeads(65_536, isGrpc), new RequestHeads(65_536, isGrpc)];
    const first = Buffer.concat([pseudo, literal("x-a", "1")]);
    expect(take(one, first)).to.equal(take(other, first));
    for (const [heads, value] of [[one, "2"] as const, [other, "3"] as const])
      take(heads, Buffer.concat([newest(2), literal("x-a", value)]));
    // The authority is the third of the table now.
    expect(take(one, Buffer.concat([newest(3), Buffer.of(0xbe)]))?.fields).to.include({ "x-a": "2" });
    expect(take(other, Buffer.concat([newest(3), Buffer.of(0xbe)]))?.fields).to.include({ "x-a": "3" });
  });

  it("shares the heads of equal blocks, and copies what it keeps of them", () => {
    const heads = begun(65_536);
    const block = blockOf();
    const head = take(heads, block);
    const same = Buffer.from(block);
    block.fill(0);
    expect(take(heads, same)).to.equal(head);
  });

  it("cuts off the blanks around values, in a time that grows with them, and refuses those of pseudo-headers", () => {
    const heads = begun(65_536);
    const gap = " ".repeat(30_000);
    const head = take(
      heads,
      blockOf({ "x-a": " \t v w \t", "x-b": "   ", te: " trailers", "x-c": `a${gap}b ` }),
    );
    expect(head?.fields).to.include({ "x-a": "v w", "x-b": "", te: "trailers", "x-c": `a${gap}b` });
    expect(head?.joined()).to.include({ "x-a": "v w", "x-b": "" });
    expect(head?.rawHeaders).to.include("v w").and.not.include(" \t v w \t");
    for (const name of [":method", ":path", ":scheme", ":authority"])
      expect(take(heads, blockOf({ [name]: "/ " })), name).to.equal(undefined);
  });

  it("keeps the newest of them only, in 4 KB", () => {
    const heads = begun(65_536);
    // Their blocks are shorter than what they count as.
    const blocks = Array.from({ length: 20 }, (_, index) =>
      blockOf({ "x-a": `${index}`.padStart(300, "v") }),
    );
    const taken = blocks.map((block) => take(heads, block));
    const kept = blocks.filter((block, index) => heads.known(block, 0, block.length) === taken[index]);
    expect(kept.length).to.be.within(1, 8);
    expect(kept).to.deep.equal(blocks.slice(-kept.length));
    const sum = taken.slice(-kept.length).reduce((bytes, head) => bytes + (head?.bytes ?? 0), 0);
    expect(sum).to.be.at.most(4_096);
  });

  it("keeps no head that is larger than allowed", () => {
    const heads = begun(300);
    const block = blockOf({ "x-a": "v".repeat(200) });
    const head = take(heads, block);
    expect(head === undefined || head.bytes > 300).to.equal(true);
    expect(heads.known(block, 0, block.length)).to.equal(undefined);
  });
});

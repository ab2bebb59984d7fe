import { Readable } from "node:stream";
import { expect } from "chai";
import { boundedBytes } from "./bounded-bytes.js";

describe("boundedBytes", () => {
  it("has all chunks together, up to the bound", async () => {
    const chunks = (): Readable => Readable.from([Buffer.from("ab"), Buffer.from("cd")]);
    expect((await boundedBytes(chunks(), 4))?.toString()).to.equal("abcd");
    expect((await boundedBytes(Readable.from([]), 0))?.length).to.equal(0);
    const longer = chunks();
    expect(await boundedBytes(longer, 3)).to.equal(undefined);
    expect(longer.destroyed).to.equal(true);
  });

  it("reads no more of what has no end", async () => {
    let read = 0;
    const endless = new Readable({
      read() {
        read += 1_000;
        this.push(Buffer.alloc(1_000));
      },
    });
    expect(await boundedBytes(endless, 10_000)).to.equal(undefined);
    expect(read).to.be.lessThan(200_000);
  });

  it("rejects with why the stream broke off", async () => {
    const broken = new Readable({ read: () => undefined });
    const bytes = boundedBytes(broken, 10);
    const error = new Error("reset");
    broken.destroy(error);
    expect(await bytes.catch((reason: unknown) => reason)).to.equal(error);
  });
});

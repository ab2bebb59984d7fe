import { expect } from "chai";
import { documentHeapBytes } from "./document-heap.js";
import { ProtocolError } from "./protocol-error.js";

const bytesOf = (flags: string): Buffer => Buffer.from(`{"flags":{${flags}}}`);
const repeat = (part: string, times: number): string =>
  Array.from({ length: times }, (_, index) => part.replace("N", String(index))).join();
const perByte = (json: Buffer): number => documentHeapBytes(json) / json.length;

describe("documentHeapBytes", () => {
  it("weighs many small values and flags more than few large ones", () => {
    expect(perByte(bytesOf(`"f":{"a":"${"x".repeat(100_000)}"}`))).to.be.within(4, 4.1);
    expect(perByte(bytesOf(`"f":{"a":[${repeat("{}", 50_000)}]}`))).to.be.within(20, 26);
    expect(perByte(bytesOf(repeat('"N":{}', 50_000)))).to.be.within(35, 55);
  });

  it("weighs a text of which V8 takes two bytes for each character more than others", () => {
    const text = (first: string): Buffer => bytesOf(`"f":{"a":"${first}${"x".repeat(100_000)}"}`);
    expect(perByte(text("ÿ"))).to.be.within(4, 4.1);
    expect(perByte(text("Ā"))).to.be.within(6, 6.1);
  });

  it("counts nothing within strings, whatever is escaped there", () => {
    const text = JSON.stringify('"{[,:\\'.repeat(1_000));
    const json = bytesOf(`"f":{"a":${text}}`);
    expect(documentHeapBytes(json)).to.be.below(json.length * 4 + 1_000);
    expect(() => documentHeapBytes(json.subarray(0, -3)), "cut off in the string").not.to.throw();
  });

  it("refuses what is nested deeper than a flag may be, wherever it is", () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(() => documentHeapBytes(bytesOf(`"f":${nested(200)}`))).not.to.throw();
    expect(() => documentHeapBytes(bytesOf(`"f":${nested(201)}`))).to.throw(ProtocolError, "202 levels");
    expect(() => documentHeapBytes(Buffer.from(`{"other":${"[".repeat(5_000_000)}`))).to.throw(ProtocolError);
  });
});

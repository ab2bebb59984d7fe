import { expect } from "chai";
import { ReplyScanner } from "./reply-scanner.js";

const crlf = "\r\n";
/** Whole replies, as Redis sends them. */
const replies = [
  "+OK\r\n",
  "-ERR no such thing\r\n",
  ":-12\r\n",
  "$-1\r\n",
  "$0\r\n\r\n",
  "$5\r\n*9\r\n$\r\n",
  "*-1\r\n",
  "*0\r\n",
  `*2\r\n$3\r\nabc\r\n*2\r\n:1\r\n*1\r\n*0\r\n`,
];

describe("ReplyScanner", () => {
  const scan = (text: string, maxReplyBytes = 1_000): void =>
    new ReplyScanner(maxReplyBytes).scan(Buffer.from(text));

  it("lets replies of all kinds pass, one after another, however they are cut", () => {
    const bytes = Buffer.from(replies.join("").repeat(3));
    for (let size = 1; size <= bytes.length; size++) {
      const scanner = new ReplyScanner(100);
      for (let at = 0; at < bytes.length; at += size) scanner.scan(bytes.subarray(at, at + size));
    }
  });

  it("counts the bytes of each reply for itself", () => {
    scan(`$90\r\n${"x".repeat(90)}\r\n`.repeat(50), 100);
    expect(() => scan(`*2\r\n${`$90\r\n${"x".repeat(90)}\r\n`.repeat(2)}`, 100)).to.throw(
      "bytes came without the end",
    );
  });

  const refused: readonly (readonly [what: string, text: string, error: RegExp])[] = [
    ["a text larger than a reply may be", "$1001\r\n", /a text of 1001 bytes was announced/],
    ["an array that takes a gigabyte", "*99999999\r\n", /an array of 99999999 elements was announced/],
    [
      "arrays that have more elements together than any answer",
      `*2\r\n${"*40000\r\n".repeat(2)}`,
      /an array of 40000 elements was announced/,
    ],
    ["arrays that are too deep", "*1\r\n".repeat(17), /17 deep/],
    ["lengths that are none", "$-2\r\n", /a length came that can't be one/],
    ["lengths with many digits", `*${"9".repeat(500)}\r\n`, /a length came that can't be one/],
    [
      "a broken line end, after which the client would read something else",
      "+a\rX*99999999\r\n",
      /whose end is broken/,
    ],
    ["what no reply begins with", `>1${crlf}`, /no reply begins with ">"/],
    ["an empty line", crlf, /no reply begins with ""/],
  ];
  for (const [what, text, error] of refused)
    it(`refuses ${what}`, () => {
      expect(() => scan(text)).to.throw(error);
      expect(() => {
        const scanner = new ReplyScanner(1_000);
        for (const byte of Buffer.from(text)) scanner.scan(Buffer.of(byte));
      }).to.throw(error);
    });

  it("refuses a line without end", () => {
    expect(() => scan("+".repeat(70_000), 1_000_000)).to.throw("a line of more than");
  });
});

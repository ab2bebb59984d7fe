import { expect } from "chai";
import { HeaderDecoder } from "./header-decoder.js";
import { encodeHeaders, sharedHeaderBlock } from "./header-encoder.js";
import { staticEntries } from "./static-table.js";

type Fields = readonly (readonly [name: string, value: string])[];

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

function decode(decoder: HeaderDecoder, block: Buffer, maxBytes = 65_536): Fields | undefined {
  const list = decoder.decode(block, 0, block.length, maxBytes);
  if (list === undefined) return undefined;
  const { fields } = list;
  return Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i] ?? "", fields[2 * i + 1] ?? ""]);
}

const request = (path: string, scheme: string, ...more: Fields): Fields => [
  [":method", "GET"],
  [":scheme", scheme],
  [":path", path],
  [":authority", "www.example.com"],
  ...more,
];

const found = (date: string): Fields => [
  ["cache-control", "private"],
  ["date", date],
  ["location", "https://www.example.com"],
];

describe("HPACK", () => {
  it("has a static table of 61 entries", () => {
    expect(staticEntries).to.equal(61);
  });

  describe("the examples of RFC 7541", () => {
    for (const [what, block, fields] of [
      [
        "C.2.1: a literal with indexing",
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        [["custom-key", "custom-header"]],
      ],
      [
        "C.2.2: a literal without indexing",
        "040c 2f73 616d 706c 652f 7061 7468",
        [[":path", "/sample/path"]],
      ],
      [
        "C.2.3: a literal that is never indexed",
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        [["password", "secret"]],
      ],
      ["C.2.4: an indexed field", "82", [[":method", "GET"]]],
    ] as readonly [string, string, Fields][]) {
      it(what, () => expect(decode(new HeaderDecoder(), bytes(block))).to.deep.equal(fields));
    }

    for (const [what, blocks] of Object.entries({
      "C.3: requests without Huffman code": [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
      ],
      "C.4: requests with Huffman code": [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      ],
    })) {
      it(what, () => {
        const decoder = new HeaderDecoder();
        expect(blocks.map((block) => decode(decoder, bytes(block)))).to.deep.equal([
          request("/", "http"),
          request("/", "http", ["cache-control", "no-cache"]),
          request("/index.html", "https", ["custom-key", "custom-value"]),
        ]);
      });
    }

    for (const [what, blocks] of Object.entries({
      "C.5: responses without Huffman code, of which earlier fields are evicted": [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
      ],
      "C.6: responses with Huffman code, of which earlier fields are evicted": [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
      ],
    })) {
      it(what, () => {
        const decoder = new HeaderDecoder();
        // The examples have a table of 256 bytes.
        expect(decode(decoder, bytes("3fe1 01"))).to.deep.equal([]);
        expect(blocks.map((block) => decode(decoder, bytes(block)))).to.deep.equal([
          [[":status", "302"], ...found("Mon, 21 Oct 2013 20:13:21 GMT")],
          [[":status", "307"], ...found("Mon, 21 Oct 2013 20:13:21 GMT")],
          [
            [":status", "200"],
            ...found("Mon, 21 Oct 2013 20:13:22 GMT"),
            ["content-encoding", "gzip"],
            ["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"],
          ],
        ]);
      });
    }
  });

  describe("refuses", () => {
    for (const [what, block] of Object.entries({
      "the index 0": "80",
      "an index beyond both tables": "be",
      "an integer that does not end": "ff80 8080 80",
      "an integer that is too large": "ffff ffff ff7f",
      "an integer that is cut off": "ff",
      "a name that is cut off": "400a 63",
      "a literal without a value": "4001 61",
      "a size of the table behind a field": "8220",
      "a size of the table beyond ours": "3fe2 1f",
      "a Huffman code with a byte of padding": "4001 6182 1fff",
      "a Huffman code padded with zeros": "4001 6181 18",
      "EOS in a Huffman code": "4001 6184 ffff ffff",
    })) {
      it(what, () => expect(decode(new HeaderDecoder(), bytes(block))).to.equal(undefined));
    }
  });

  it("counts all fields, and keeps no more than it may", () => {
    const block = encodeHeaders({ a: "x".repeat(100), b: "y".repeat(1_000), c: "z" });
    const list = new HeaderDecoder().decode(block, 0, block.length, 300);
    expect(list?.bytes).to.equal(100 + 1_000 + 1 + 3 * 33);
    expect(list?.fields).to.deep.equal(["a", "x".repeat(100), "c", "z"]);
  });

  it("evicts what a field of the table's size leaves no room for, and everything for a larger one", () => {
    const decoder = new HeaderDecoder();
    const literal = (name: string, value: string): Buffer => {
      const block = encodeHeaders({ [name]: value });
      block[0] = 0x40;
      return block;
    };
    for (let index = 0; index < 500; index++) decode(decoder, literal(`name-${index}`, "v".repeat(50)));
    expect(decode(decoder, bytes("be"))).to.deep.equal([["name-499", "v".repeat(50)]]);
    // 45 entries of 90 bytes.
    expect(decode(decoder, Buffer.of(0x80 | (61 + 45)))).to.deep.equal([["name-455", "v".repeat(50)]]);
    expect(decode(new HeaderDecoder(), bytes("be"))).to.equal(undefined);
    decode(decoder, literal("large", "v".repeat(5_000)));
    expect(decode(decoder, bytes("be"))).to.equal(undefined);
  });

  it("has another version of the table after each change, and only then", () => {
    const decoder = new HeaderDecoder();
    const { tableVersion } = decoder;
    decode(decoder, bytes("82 0400 1001 6101 62"));
    expect(decoder.tableVersion).to.equal(tableVersion);
    decode(decoder, bytes("4001 6101 62"));
    expect(decoder.tableVersion).not.to.equal(tableVersion);
  });

  it("encodes what it decodes, from the static table where it can, and shared headers once", () => {
    const headers = {
      ":status": 200,
      "content-type": "application/grpc",
      list: ["a", "b"],
      long: "é".repeat(300),
    };
    const block = sharedHeaderBlock(headers);
    expect(block[0]).to.equal(0x88);
    expect(sharedHeaderBlock(headers)).to.equal(block);
    expect(decode(new HeaderDecoder(), block)).to.deep.equal([
      [":status", "200"],
      ["content-type", "application/grpc"],
      ["list", "a"],
      ["list", "b"],
      ["long", "é".repeat(300)],
    ]);
    for (const value of ["a\r\nb", "a\nb", "a\0b"])
      expect(() => encodeHeaders({ location: value })).to.throw("no header can have");
  });
});

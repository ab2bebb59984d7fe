import { expect } from "chai";
import { jsonOfYaml, YamlDocumentError } from "./yaml-document.js";

const megabyte = 1024 * 1024;

const read = async (yaml: string, heapBytes = 64 * megabyte): Promise<string> =>
  (await jsonOfYaml(Buffer.from(yaml), megabyte, () => heapBytes)).toString();

async function refusal(yaml: string, heapBytes?: number): Promise<YamlDocumentError> {
  const error = await read(yaml, heapBytes).catch((cause: unknown) => cause);
  expect(error).to.be.instanceOf(YamlDocumentError);
  return error as YamlDocumentError;
}

describe("YAML as a flag document", () => {
  it("becomes canonical JSON: sorted keys, no white space", async () => {
    const yaml =
      "flags:\n  b: {state: ENABLED, variants: {'on': true, \"10\": 1.5}}\n  a:\n    - ü\n    - ~\n";
    expect(await read(yaml)).to.equal(
      '{"flags":{"a":["ü",null],"b":{"state":"ENABLED","variants":{"10":1.5,"on":true}}}}',
    );
  });

  it("is YAML 1.2: on and off are text, also as keys, and so is a time", async () => {
    expect(await read("variants:\n  on: on\n  off: off\nat: 12:30:00\nday: 2026-11-21\n")).to.equal(
      '{"at":"12:30:00","day":"2026-11-21","variants":{"off":"off","on":"on"}}',
    );
  });

  it("keeps keys as they are written", async () => {
    expect(await read("1.10: a\n~: b\ntrue: c\n__proto__: {x: 1}\n")).to.equal(
      '{"1.10":"a","__proto__":{"x":1},"true":"c","~":"b"}',
    );
  });

  it("follows anchors and merge keys, as kubectl does", async () => {
    expect(await read("base: &b {x: 1, y: 1}\nflags:\n  <<: *b\n  y: 2\n")).to.equal(
      '{"base":{"x":1,"y":1},"flags":{"x":1,"y":2}}',
    );
  });

  it("refuses a duplicate key, and says where", async () => {
    expect((await refusal("a: 1\nb: 1\na: 2\n")).message).to.equal('line 3, column 1: duplicate key "a"');
  });

  it("takes a byte order mark", async () => {
    expect(await read("\u{feff}a: 1\n")).to.equal('{"a":1}');
  });

  const malformed: readonly (readonly [what: string, yaml: string, message: RegExp])[] = [
    ["a broken line, which it names", "flags:\n  a:\n    b: [1\n  c: 2\n", /^line 3, column \d+: /],
    ["a tab where indentation should be", "flags:\n\ta: 1\n", /^line 2, column \d+: .*tab/i],
    ["several documents", "a: 1\n---\nb: 2\n", /several YAML documents/],
    ["a list", "- a\n", /a mapping with the key "flags"/],
    ["text", "just words", /a mapping/],
    ["nothing but comments", "# soon\n", /a mapping/],
    ["nothing but a document mark", "---\n", /a mapping/],
    ["nesting without end", "a: " + "[".repeat(50_000), /nested more than 200 deep/],
    [
      "aliases of aliases",
      [
        "a: &a [x, x, x, x, x, x, x, x, x]",
        ..."bcdefgh".split("").map((c, i) => {
          const of = `*${"abcdefgh"[i] ?? ""}`;
          return `${c}: &${c} [${new Array(9).fill(of).join(", ")}]`;
        }),
      ].join("\n"),
      /alias/,
    ],
    ["an alias of nothing", "a: *nowhere\n", /alias/],
    ["a number that JSON does not have", "a: .inf\n", /^line 1, column 4: \.inf is a number/],
  ];
  for (const [what, yaml, message] of malformed) {
    it(`refuses ${what}`, async () => {
      const error = await refusal(yaml, 1_024 * megabyte);
      expect(error.code).to.equal("malformed");
      expect(error.message).to.match(message);
    });
  }

  it("counts the bytes that aliases and merges repeat", async () => {
    const yaml = `a: &a {text: ${"x".repeat(1_000)}}\nb: [${"*a, ".repeat(1_100)}]\n`;
    const error = await refusal(yaml);
    expect(error.code).to.equal("malformed");
    expect(error.message).to.match(/^line 2, column \d+: it would be more than 1048576 bytes of JSON/);
    const merges = Array.from({ length: 1_100 }, (_, index) => `  - {<<: *a, i: ${index}}\n`).join("");
    expect((await refusal(`a: &a {text: ${"x".repeat(1_000)}}\nb:\n${merges}`)).message).to.match(
      /bytes of JSON/,
    );
  });

  it("gives an alias what the last anchor before it holds", async () => {
    expect(await read("a: &x 1\nb: *x\nc: &x [2]\nd: *x\n&k e: *k\n")).to.equal(
      '{"a":1,"b":1,"c":[2],"d":[2],"e":"e"}',
    );
  });

  it("merges lists of mappings, the first one first; what stands there itself wins", async () => {
    const bases = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nl: &l [*a, *b]\n";
    const merged = async (yaml: string): Promise<unknown> =>
      (JSON.parse(await read(bases + yaml)) as { readonly m: unknown }).m;
    expect(await merged("m: {<<: [*b, *a], z: 3}\n")).to.deep.equal({ x: 1, y: 2, z: 3 });
    expect(await merged("m: {z: 3, <<: *l}\n")).to.deep.equal({ x: 1, y: 1, z: 3 });
    expect(await merged('m: {"<<": 1}\n')).to.deep.equal({ "<<": 1 });
    expect((await refusal("a:\n  <<: 5\n")).message).to.match(/^line 2, column 7: only a mapping/);
  });

  it("takes thousands of anchors and aliases in a time that grows with the text", async () => {
    // The library alone takes time that grows with the square of their number: a minute for these, and the test would not end.
    const anchors = Array.from({ length: 14_000 }, (_, index) => `&a${index} 1`);
    const aliases = anchors.map((_, index) => `*a${index}`);
    const json = await read(`flags: [${[...anchors, ...aliases].join(", ")}]\n`);
    expect(json).to.equal(`{"flags":[${"1,".repeat(27_999)}1]}`);
  });

  it("is given up when the heap would not hold what becomes of it, and lets others run meanwhile", async () => {
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const yaml = "flags:\n" + "  - {a: 1}\n".repeat(20_000);
    const error = await refusal(yaml, 10 * megabyte);
    clearImmediate(next);
    expect(error.code).to.equal("too_large");
    expect(error.message).to.match(/write it as JSON/);
    expect(turns).to.be.greaterThan(5);
    expect(await read(yaml, 100 * megabyte)).to.match(/^\{"flags":\[\{"a":1\},/);
  });
});

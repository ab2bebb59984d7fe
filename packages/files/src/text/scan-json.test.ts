import { expect } from "chai";
import fc from "fast-check";
import { scanJson } from "./scan-json.js";
import { defaultTextLimits } from "./text-limits.js";

describe("scanJson", () => {
  it("takes for JSON what JSON.parse takes for JSON, and says where it ends", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(4), (text, indent) => {
        const pretty = JSON.stringify(JSON.parse(text) as unknown, null, indent);
        expect(scanJson(` ${pretty}\n`, defaultTextLimits)).to.deep.include({
          kind: "value",
          start: 1,
          end: pretty.length + 1,
        });
      }),
    );
  });

  it("refuses what JSON.parse refuses, wherever a text is broken off or changed", () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 3 }),
        fc.nat(),
        fc.constantFrom("", ",", "}", "]", "x", '"', "\\", "\n", "0"),
        (json, seed, put) => {
          const at = seed % (json.length + 1);
          for (const text of [json.slice(0, at), json.slice(0, at) + put + json.slice(at)]) {
            const scan = scanJson(text, defaultTextLimits);
            const isWhole = scan.kind === "value" && text.slice(scan.end).trim() === "";
            const hasDuplicate = scan.kind === "error" && scan.message.includes("twice");
            if (!hasDuplicate) expect(isWhole, text).to.equal(isJson(text));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("refuses a duplicate key, at the second, and endless nesting", () => {
    expect(scanJson('{"a":1,\n"\\u0061":2}', defaultTextLimits)).to.deep.equal({
      kind: "error",
      offset: 8,
      message: 'duplicate key "a"',
    });
    expect(scanJson("[".repeat(100_000), defaultTextLimits)).to.have.property("kind", "error");
  });

  it("takes keys, texts and numbers of ten million characters", () => {
    const long = JSON.stringify("x".repeat(10_000_000));
    for (const text of [long, `{${long}:${long}}`, "1".repeat(10_000_000)])
      expect(scanJson(text, defaultTextLimits)).to.deep.include({ kind: "value", end: text.length });
    expect(scanJson(long.slice(0, -1), defaultTextLimits)).to.deep.include({ kind: "error", offset: 0 });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

import { expect } from "chai";
import { createLogger } from "./logger.js";

function lines(): { write(line: string): void; readonly written: string[] } {
  const written: string[] = [];
  return { write: (line) => void written.push(line), written };
}

describe("createLogger", () => {
  it("writes one JSON object per line with level, ts and msg", () => {
    const out = lines();
    createLogger({ format: "json", debug: false, fields: { service: "proxy" } }, out).warn(
      { topic: "a/b" },
      "held",
    );
    const line = JSON.parse(out.written[0] ?? "") as Record<string, unknown>;
    expect(line).to.include({ level: "warn", msg: "held", topic: "a/b", service: "proxy" });
    expect(line["ts"]).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it("writes a readable line with key=value in console format, errors by their message", () => {
    const out = lines();
    const logger = createLogger({ format: "console", debug: false }, out);
    logger.child({ topic: "a/b" }).error({ error: new Error("no such file") }, "source failed");
    expect(out.written[0]).to.match(/^\S+Z ERROR source failed topic=a\/b error="no such file"\n$/);
  });

  for (const format of ["json", "console"] as const)
    it(`writes nothing of a field that a terminal acts on, or that ends a line, in ${format} format`, () => {
      const out = lines();
      const reason = "\n\u001b[2J\u007f\u0085\u009b2J\u2028\u2029\u202e\u2066\u200f\u061cé😀";
      createLogger({ format, debug: false }, out).warn({ reason, keys: [reason] }, "refused");
      const [line = ""] = out.written;
      expect(line.trimEnd()).to.not.match(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
      const quoted = /reason"?[:=]("(?:[^"\\]|\\.)*")/.exec(line)?.[1] ?? "";
      expect(JSON.parse(quoted)).to.equal(reason);
    });

  it("writes debug lines only if debug is on", () => {
    const out = lines();
    createLogger({ format: "json", debug: false }, out).debug("quiet");
    createLogger({ format: "json", debug: true }, out).debug("loud");
    expect(out.written).to.have.length(1);
  });
});

import { Readable } from "node:stream";
import { expect } from "chai";
import { coloursFor } from "../terminal/colours.js";
import { TailPrinter } from "./tail-printer.js";

describe("What bunting tail prints", () => {
  it("says of flags that are back after a deletion that they are as before, not that none has changed", () => {
    const lines: string[] = [];
    const printer = new TailPrinter(
      "demo/a",
      {
        env: {},
        stdin: Readable.from([]),
        colours: coloursFor(false, {}),
        isTerminal: false,
        columns: 80,
        signal: new AbortController().signal,
        print: (line) => lines.push(line.replace(/^\d{4}-\S+ /, "")),
        note: () => undefined,
        clear: () => undefined,
        progress: () => undefined,
      },
      false,
    );
    const flag = { state: "ENABLED", variants: { a: 1, b: 2 }, defaultVariant: "a" };
    const version = (defaultVariant: string): void => {
      const document = { flags: { f: { ...flag, defaultVariant } } };
      printer.version({ document });
    };
    version("a");
    version("a");
    printer.deleted("empty");
    version("a");
    version("b");
    expect(lines).to.deep.equal([
      "demo/a 1 flag",
      "demo/a the FeatureFlag was deleted; policy of the proxy: empty",
      "demo/a 1 flag, as before",
      "demo/a 1 flag changed",
      "~ f",
      '    defaultVariant: "a" → "b"',
    ]);
  });
});

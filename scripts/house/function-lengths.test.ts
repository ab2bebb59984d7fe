import { expect } from "chai";
import { functionLengths } from "./function-lengths.js";
import { productFile } from "./product-file.js";

describe("functionLengths", () => {
  const ofLines = (lines: number): string => `{\n${"\n".repeat(lines - 2)}}`;

  it("measures functions, methods, constructors, accessors and arrows from their first line to their last", () => {
    const text = [
      `function declared() ${ofLines(91)}`,
      `class Engine {\n constructor() ${ofLines(92)}\n #start() ${ofLines(93)}\n get speed() ${ofLines(94)} }`,
      `const arrow = () => ${ofLines(95)};`,
      `run(() => ${ofLines(96)});`,
      `const fine = () => ${ofLines(90)};`,
    ].join("\n");
    const [longest, over] = functionLengths([productFile("a.ts", text)]);
    expect(longest?.now).to.equal(96);
    expect(over?.offenders.map((offender) => offender.text)).to.deep.equal([
      "a callback: 96 lines",
      "arrow: 95 lines",
      "Engine.speed: 94 lines",
      "Engine.#start: 93 lines",
      "Engine.constructor: 92 lines",
      "declared: 91 lines",
    ]);
    expect(over?.offenders.at(-1)?.line).to.equal(1);
  });

  it("does not take the comment before a function, or a function without a body, for its lines", () => {
    const text = `/**\n${"*\n".repeat(100)} */\nfunction f(a: string): void;\nfunction f(): void {\n}`;
    expect(functionLengths([productFile("a.ts", text)])[0]?.now).to.equal(2);
  });
});

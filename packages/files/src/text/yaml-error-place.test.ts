import { expect } from "chai";
import { yamlErrors } from "./yaml-errors.js";
import { readYaml } from "./read-yaml.js";
import { defaultTextLimits } from "./text-limits.js";

/** Where both readers say that a text is wrong, as line:column. */
async function placeOf(text: string): Promise<string> {
  const [first] = yamlErrors(text);
  const read = await readYaml(text, defaultTextLimits);
  if (read.kind === "documents") return expect.fail("it was read");
  const { line, column } = read;
  expect({ line: first?.line, column: first?.column }).to.deep.equal({ line, column });
  return `${line}:${column}`;
}

describe("the place of an error in YAML", () => {
  it("is behind the last item of a collection that is not closed, not on the next line", async () => {
    expect(await placeOf('variants: { "on": true, "off": false\nstate: ENABLED\n')).to.equal("1:37");
    expect(await placeOf("a: 1\nrule: [1,\n  2\n\nb: 2\n")).to.equal("3:4");
  });

  it("is the quote that is not closed, not the end of the text", async () => {
    expect(await placeOf('a: "x\nb: 1\nc: 2\n')).to.equal("1:4");
    expect(await placeOf("a: 'x\nb: 1\n")).to.equal("1:4");
  });

  it("is where the library says it, otherwise", async () => {
    expect(await placeOf("a: 1\nb\n")).to.equal("2:1");
  });
});

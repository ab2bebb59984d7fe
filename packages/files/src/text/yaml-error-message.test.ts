import { expect } from "chai";
import { yamlErrors } from "./yaml-errors.js";
import { readYaml } from "./read-yaml.js";
import { defaultTextLimits } from "./text-limits.js";

/** What both readers say of a text that is wrong. */
async function messageOf(text: string): Promise<string> {
  const read = await readYaml(text, defaultTextLimits);
  if (read.kind === "documents") return expect.fail("it was read");
  expect(yamlErrors(text)[0]?.message).to.equal(read.message);
  return read.message;
}

describe("the message of an error in YAML", () => {
  it("names the indentation where that is wrong, which the words of the grammar do not", async () => {
    const advice = /: check how this line and those above are indented$/;
    const astray = "if:\n  - { a: 1 }\n  - f:\n      - x\n    - null\n";
    for (const wrong of ["f:\n  a: 1\n b: 2\n", astray, "a: b: 1\n"])
      expect(await messageOf(wrong)).to.match(advice);
    expect(await messageOf("a: [1,\nb: 2\n")).not.to.match(advice);
  });
});

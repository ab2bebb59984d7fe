import { runCommand } from "@bunting/cli/internal/run-command.fixture.js";
import { operatorNames } from "@bunting/evaluation";
import { expect } from "chai";
import { readPage } from "../support/markdown-pages.js";

interface Row {
  readonly operator: string;
  readonly rule: string;
  readonly context: string;
  readonly answer: string;
}

/** Lines of the tables: four cells of code, and a remark. */
const rows: readonly Row[] = [
  ...readPage("docs/flags/operators.md").matchAll(
    /^\| `(.*?)` +\| `(.*?)` +\| `(.*?)` +\| `(.*?)` +\|.*\|$/gm,
  ),
].map(([, operator = "", rule = "", context = "", answer = ""]) => ({ operator, rule, context, answer }));

describe("docs/flags/operators.md", () => {
  it("has an example of every operator, and of nothing else", () => {
    expect(new Set(rows.map(({ operator }) => operator))).to.deep.equal(new Set(operatorNames));
    for (const { operator, rule } of rows) expect(rule).to.contain(`{"${operator}"`);
  });

  for (const { rule, context, answer } of rows)
    it(`says what ${rule} gives for ${context}`, async () => {
      const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" };
      const document = { flags: { "new-checkout": { ...flag, targeting: JSON.parse(rule) as unknown } } };
      const { out } = await runCommand(["eval", "-", "new-checkout", "--json", "--context", context], {
        stdin: JSON.stringify(document),
      });
      const { rule: evaluated, errorCode } = JSON.parse(out) as {
        rule: { result?: unknown };
        errorCode?: string;
      };
      if (answer === "PARSE_ERROR") expect(errorCode).to.equal(answer);
      else expect(evaluated).to.have.deep.property("result", JSON.parse(answer));
    });
});

import { expect } from "chai";
import { TempDirectory } from "../support/temp-directory.js";
import { AttackedAgent } from "./support/attacked-agent.js";

const megabyte = 980_000;
const flagsPerAttack = 100;

/** Rules that a hundred flags have each, and a context of 1 MB for them. */
const attacks: Readonly<Record<string, readonly [rule: unknown, context: unknown]>> = {
  "a number": [{ "==": [{ var: "v" }, 1] }, { v: `1${"_1".repeat(megabyte / 2)}` }],
  "a version": [{ sem_ver: [{ var: "v" }, ">=", "1.0.0"] }, { v: `1.0.0-${"a.".repeat(megabyte / 2)}a` }],
  "a text in a text": [
    { in: [{ var: "w" }, { var: "v" }] },
    {
      v: "a".repeat(megabyte / 2),
      w: `${"a".repeat(megabyte / 8)}b${"a".repeat(megabyte / 8)}`,
    },
  ],
  "lists in lists": [
    { some: [{ var: "v" }, { in: [{ var: "" }, { var: "w" }] }] },
    { v: Array.from({ length: 900 }, (_, index) => `a${index}`), w: "a".repeat(900_000) },
  ],
};

interface BulkAnswer {
  readonly flags: readonly { readonly key: string; readonly errorCode?: string }[];
}

describe("an agent that evaluates all flags with a context of one long text", () => {
  for (const [what, [rule, context]] of Object.entries(attacks)) {
    it(`does the work of some of the flags only, and answers single evaluations beside: ${what}`, async () => {
      const directory = new TempDirectory();
      const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on", targeting: rule };
      const keys = Array.from({ length: flagsPerAttack }, (_, index) => `attacked-${index}`);
      const flags = Object.fromEntries(keys.map((key) => [key, flag]));
      directory.replace("attacked.json", JSON.stringify({ flags }));
      const agent = await AttackedAgent.start("--uri", `file:${directory.file("attacked.json")}`);
      try {
        const all = agent.url("ofrep", "/ofrep/v1/evaluate/flags");
        const body = JSON.stringify({ context });
        const bulk = async (): Promise<number> => {
          const answer = (await (await fetch(all, { method: "POST", body })).json()) as BulkAnswer;
          return answer.flags.filter(({ errorCode }) => errorCode === "PARSE_ERROR").length;
        };
        const failed = Promise.all([bulk(), bulk(), bulk()]);
        expect(await agent.failuresOf(20)).to.equal(0);
        for (const count of await failed) expect(count).to.be.within(flagsPerAttack / 2, flagsPerAttack);
        await agent.isWell();
      } finally {
        await agent.stop();
        directory.remove();
      }
    });
  }
});

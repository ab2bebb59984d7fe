import { createEvaluator, type Evaluator } from "@bunting/evaluation";
import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { parse } from "yaml";
import { filesOf } from "../support/page-commands.js";

const files = filesOf("docs/flags/rollouts.md");
const users = Array.from({ length: 1000 }, (_, i) => `user-${i}`);

/** The flags of a file of the page. */
function evaluatorOf(name: string): Evaluator {
  const file = parse(files.get(name) ?? "") as { readonly spec?: { readonly flagSpec: JsonObject } };
  return createEvaluator(file.spec?.flagSpec ?? file).evaluator;
}

function chosenBy(name: string, attribute: string): ReadonlySet<string> {
  const evaluator = evaluatorOf(name);
  return new Set(
    users.filter((user) => evaluator.resolve("new-checkout", { [attribute]: user }).variant === "on"),
  );
}

describe("docs/flags/rollouts.md", () => {
  it("gives some 10 % of users the new variant", () => {
    expect(chosenBy("rollout.yaml", "targetingKey").size).to.be.within(80, 120);
  });

  it("keeps everybody of the first 10 % in the first 25 %", () => {
    const few = chosenBy("rollout.yaml", "targetingKey");
    const more = chosenBy("more.yaml", "targetingKey");
    expect(more.size).to.be.within(220, 280);
    expect([...few].filter((user) => !more.has(user))).to.deep.equal([]);
  });

  it("splits accounts, whoever asks, and nobody without an account", () => {
    const evaluator = evaluatorOf("accounts.yaml");
    expect(chosenBy("accounts.yaml", "account").size).to.be.within(80, 120);
    for (const account of users.slice(0, 100)) {
      const answers = ["ada", "bob"].map((targetingKey) =>
        evaluator.resolve("new-checkout", { targetingKey, account }),
      );
      expect(new Set(answers.map(({ variant }) => variant)).size).to.equal(1);
    }
    expect(evaluator.resolve("new-checkout", { targetingKey: "ada" }).reason).to.equal("DEFAULT");
  });

  it("chooses other users in another flag", () => {
    const evaluator = evaluatorOf("colours.yaml");
    const few = chosenBy("rollout.yaml", "targetingKey");
    const blue = [...few].filter(
      (targetingKey) => evaluator.resolve("button", { targetingKey }).variant === "blue",
    );
    expect(blue.length / few.size).to.be.within(0.3, 0.7);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** What an agent answers, by the same evaluator. */
function evaluate(...args) {
  const flag = ["flags/checkout.yaml", "new-checkout", "--type", "boolean"];
  return JSON.parse(execFileSync("npx", ["bunting", "eval", ...flag, "--json", ...args]));
}

test("half of the users have the new checkout", () => {
  const { answers } = evaluate("--users", "1000");
  const { users } = answers.find(({ value }) => value === true);
  assert.ok(users > 450 && users < 550, `${users} of 1000 have it`);
});

test("who had it at 10 % still has it", () => {
  assert.equal(evaluate("--context", '{"targetingKey":"user-9"}').value, true);
});

test("nobody has it who is not known", () => {
  assert.equal(evaluate().value, false);
});

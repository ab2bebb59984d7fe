import { Evaluator, explain } from "@bunting/evaluation";
import type { JsonObject } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import { plural } from "../terminal/plural.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { Io } from "../terminal/io.js";
import { textTable } from "../terminal/text-table.js";
import type { EvalOptions } from "./eval-options.js";
import type { FoundFlag } from "./find-flag.js";
import { typedAnswer, type TypedAnswer } from "./typed-answer.js";

/** What some of the users get. */
export interface UserCount extends Omit<TypedAnswer, "reason"> {
  readonly users: number;
}

interface AskedUsers extends Pick<EvalOptions, "users" | "type">, Partial<Pick<EvalOptions, "usersBy">> {
  readonly nowMs: number | undefined;
}

/**
 * Evaluates a flag for `users` users that differ in one key of the context alone, such as the targetingKeys user-0, user-1 and so on, and counts what
 * they get: what most have comes first. `--users` and `--users-by` of `bunting eval`.
 */
export function countUsers(
  { flag }: FoundFlag,
  context: JsonObject,
  { users, usersBy = "targetingKey", type, nowMs }: AskedUsers,
): readonly UserCount[] {
  const clock = nowMs === undefined ? Date : { now: () => nowMs };
  const evaluator = new Evaluator({ clock });
  evaluator.apply({ upserted: [flag], removed: [] });
  const counts = new Map<string, UserCount>();
  const name = usersBy === "targetingKey" ? "user" : usersBy;
  for (let index = 0; index < users; index++) {
    const user = { ...context, [usersBy]: `${name}-${index}` };
    const resolution = evaluator.resolve(flag.key, user);
    const { value, variant, errorCode } = typedAnswer({ resolution, failure: undefined }, type);
    const id = JSON.stringify([variant, value, errorCode]);
    const before = counts.get(id) ?? { value, variant, errorCode, message: undefined, users: 0 };
    // Why it fails is told of the first to whom it happens.
    const message =
      before.users === 0 ? typedAnswer(explain(flag, user, { clock }), type).message : before.message;
    counts.set(id, { ...before, message, users: before.users + 1 });
  }
  return [...counts.values()].sort((a, b) => b.users - a.users);
}

export function showUserCounts(found: FoundFlag, counts: readonly UserCount[], { colours, print }: Io): void {
  const all = counts.reduce((sum, { users }) => sum + users, 0);
  print(`${colours.bold(printableLine(found.flag.key))} for ${plural(all, "user")}`);
  print(colours.dim(printableLine(`${found.topic} at ${found.place}`)));
  print("");
  const rows = counts.map(({ value, variant, errorCode, message, users }) => [
    String(users),
    `${((users / all) * 100).toFixed(1)} %`,
    variant === undefined ? "" : JSON.stringify(variant),
    value === undefined ? (errorCode ?? "(no value)") : JSON.stringify(value),
    message ?? "",
  ]);
  const shown = rows.map((row) => row.map((cell) => printableLine(cut(cell, 200))));
  for (const line of textTable([["USERS", "SHARE", "VARIANT", "VALUE", ""], ...shown], [true, true]))
    print(line);
}

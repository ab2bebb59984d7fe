import { explain, type Explanation, type RuleStep } from "@bunting/evaluation";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { readDocuments } from "../input/read-documents.js";
import { standardInput } from "../input/read-input.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { Io } from "../terminal/io.js";
import type { evalOptionTable } from "./eval-options.js";
import { findFlag, type FoundFlag } from "./find-flag.js";
import { readContext } from "./read-context.js";
import { ruleTree } from "./rule-tree.js";
import { typedAnswer, type TypedAnswer } from "./typed-answer.js";

/** `bunting eval`; resolves with the exit code. */
export async function runEval({ options, words, io }: CommandCall<typeof evalOptionTable>): Promise<number> {
  const [file, key, ...rest] = words;
  if (file === undefined || key === undefined || rest.length > 0)
    throw new CliError(
      "USAGE_INVALID",
      "expected a file and the key of a flag: bunting eval flags.yaml my-flag",
    );
  if (file === standardInput && options.context === standardInput)
    throw new CliError("USAGE_INVALID", "the file and the context can't both come from the standard input");
  const context = await readContext(options.context, io);
  const nowMs = timeOf(options.at);
  const found = findFlag(await readDocuments(file, io), key, options.topic);
  const explanation = explain(found.flag, context, {
    evaluators: found.evaluators,
    ...(nowMs === undefined ? {} : { clock: { now: () => nowMs } }),
  });
  const answer = typedAnswer(explanation, options.type);
  if (options.json) io.print(JSON.stringify(jsonOf(found, explanation, answer), null, 2));
  else show(found, explanation, answer, io);
  return answer.errorCode === undefined ? 0 : 1;
}

function timeOf(text: string): number | undefined {
  if (text === "") return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new CliError(
      "USAGE_INVALID",
      `--at: expected a time such as 2026-11-22T12:00:00Z, got ${quoted(text)}`,
    );
  return ms;
}

function show(
  { flag, topic, place }: FoundFlag,
  explanation: Explanation,
  answer: TypedAnswer,
  io: Io,
): void {
  const { colours, print } = io;
  const { value, variant, reason, errorCode } = answer;
  const message = answer.message === undefined ? undefined : printableLine(answer.message);
  const shown = value === undefined ? colours.yellow("(no value)") : colours.green(JSON.stringify(value));
  const facts = [
    `reason ${errorCode === undefined ? reason : `${reason} ${errorCode}`}`,
    ...(variant === undefined ? [] : [`variant ${JSON.stringify(variant)}`]),
    printableLine(`${topic} at ${place}`),
  ];
  print(`${colours.bold(printableLine(flag.key))} = ${shown}`);
  print(colours.dim(facts.join(", ")));
  if (message !== undefined) print(errorCode === undefined ? message : colours.red(message));
  const { steps, isComplete, result } = explanation;
  if (steps.length > 0) for (const line of ["", ...ruleTree(steps, colours)]) print(line);
  if (!isComplete) print(colours.dim("There were more steps than are shown."));
  if (result === null && flag.state !== "DISABLED")
    print(colours.dim(`The rule gives null, which means the default variant.`));
}

function jsonOf(
  { flag, topic, place }: FoundFlag,
  { steps, isComplete, result }: Explanation,
  answer: TypedAnswer,
): object {
  return {
    key: flag.key,
    ...answer,
    metadata: flag.metadata,
    topic,
    place,
    rule: { result, isComplete, steps: steps.map(stepJson) },
  };
}

function stepJson({ operator, args, result, error, evaluator, branch, steps }: RuleStep): object {
  return { operator, args, result, error, evaluator, branch, steps: steps.map(stepJson) };
}

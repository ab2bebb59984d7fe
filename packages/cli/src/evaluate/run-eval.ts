import { explain, type Explanation, type RuleStep } from "@bunting/evaluation";
import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { cut, quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { readDocuments } from "../input/read-documents.js";
import { standardInput } from "../input/read-input.js";
import {
  addressText,
  parseAgentUrl,
  parseProxyUrl,
  type ProxyTopic,
  type ServerAddress,
} from "../sync/server-address.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { Io } from "../terminal/io.js";
import type { EvalOptions, evalOptionTable } from "./eval-options.js";
import { findFlag, type FoundFlag } from "./find-flag.js";
import { sideInFile, type FlagSide } from "./flag-side.js";
import type { LiveDocument } from "./live-documents.js";
import { ruleTree } from "./rule-tree.js";
import { typedAnswer, type TypedAnswer } from "./typed-answer.js";
import { readJsonOption } from "../input/read-json-option.js";

/** `bunting eval`; resolves with the exit code. */
export async function runEval({ options, words, io }: CommandCall<typeof evalOptionTable>): Promise<number> {
  const [source, key, ...rest] = words;
  if (source === undefined || key === undefined || rest.length > 0)
    throw CliError.usageInvalid("expected a file and the key of a flag: bunting eval flags.yaml my-flag");
  if (source === standardInput && options.context === standardInput)
    throw CliError.usageInvalid("the file and the context can't both come from the standard input");
  if (options.explain && options.users > 0)
    throw CliError.usageInvalid("--explain is about one answer: leave out --users");
  if (options.usersBy !== "targetingKey" && options.users === 0)
    throw CliError.usageInvalid("--users-by is about --users: say how many users");
  const context = await readContext(options.context, io);
  const nowMs = timeOf(options.at);
  const agent = parseAgentUrl(source);
  if (agent !== undefined) return runAtAgent(agent, key, context, { options, io, nowMs });
  const proxy = parseProxyUrl(source);
  const found = findFlag(await documentsOf(proxy ?? source, options, io), key, options.topic);
  if (options.users > 0) return runForUsers(found, context, { options, io, nowMs });
  const explained = explainFound(found, context, nowMs);
  const answer = typedAnswer(explained, options.type);
  const side = options.explain ? await sideOf(found, proxy, options, io.signal) : undefined;
  if (options.json) io.print(JSON.stringify({ ...jsonOf(found, explained, answer), side }, null, 2));
  else show(found, explained, answer, io, side);
  return answer.errorCode === undefined ? 0 : 1;
}

interface Call {
  readonly options: EvalOptions;
  readonly io: Io;
  readonly nowMs: number | undefined;
}

async function runForUsers(
  found: FoundFlag,
  context: JsonObject,
  { options, io, nowMs }: Call,
): Promise<number> {
  const { countUsers, showUserCounts } = await import("./count-users.js");
  const { users, usersBy, type } = options;
  const answers = countUsers(found, context, { users, usersBy, type, nowMs });
  const { topic, place, digest } = found;
  if (options.json)
    io.print(JSON.stringify({ key: found.flag.key, users, answers, topic, place, digest }, null, 2));
  else showUserCounts(found, answers, io);
  return answers.some(({ errorCode }) => errorCode !== undefined) ? 1 : 0;
}

/** Shows the answer of an agent. The flags that it serves are evaluated here as well: for the way through the rule, and to tell whether they give the same. */
async function runAtAgent(
  address: ServerAddress,
  key: string,
  context: JsonObject,
  { options, io, nowMs }: Call,
): Promise<number> {
  if (options.users > 0)
    throw CliError.usageInvalid(
      "--users counts what the flags of a file or of a proxy give: name one of them instead of an agent",
    );
  if (nowMs !== undefined)
    throw CliError.usageInvalid(
      "--at sets the time for the flags of a file or of a proxy, but an agent answers by its own clock",
    );
  if (options.topic !== "")
    throw CliError.usageInvalid(
      "--topic chooses among the FeatureFlags of a file, but an agent has one flag of each key: leave it out",
    );
  // Loaded here, so that reading a file does not load the client of servers.
  const { differenceOf, evalAtAgent } = await import("./eval-at-agent.js");
  const { answer, flags } = await evalAtAgent(address, key, context, options, io);
  const side = options.explain
    ? await (await import("./ask-side.js")).askAgentSide(address, key, options, io.signal)
    : undefined;
  if ("problem" in flags || !Object.hasOwn(flags.document.flags, key)) {
    const problem = "problem" in flags ? flags.problem : undefined;
    if (options.json) io.print(JSON.stringify({ key, ...answer, problem, side }, null, 2));
    else {
      showAnswer(key, answer, `agent ${addressText(address)}`, io);
      showSide(side, io);
    }
    if (problem !== undefined) io.note(`bunting: the way through the rule is not known: ${problem}`);
    return answer.errorCode === undefined ? 0 : 1;
  }
  const found = findFlag([flags], key, "");
  const explained = explainFound(found, context);
  const difference = differenceOf(answer, typedAnswer(explained, options.type));
  if (options.json)
    io.print(JSON.stringify({ ...jsonOf(found, explained, answer), difference, side }, null, 2));
  else show(found, explained, answer, io, side);
  if (difference !== undefined) io.note(difference);
  return answer.errorCode === undefined && difference === undefined ? 0 : 1;
}

function explainFound(found: FoundFlag, context: JsonObject, nowMs?: number): Explanation {
  return explain(found.flag, context, {
    evaluators: found.evaluators,
    ...(nowMs === undefined ? {} : { clock: { now: () => nowMs } }),
  });
}

async function documentsOf(
  source: string | ProxyTopic,
  options: EvalOptions,
  io: Io,
): Promise<readonly LiveDocument[]> {
  if (typeof source === "string") return readDocuments(source, io);
  const { documentOfProxy } = await import("./live-documents.js");
  return [await documentOfProxy(source, options, io.signal)];
}

async function sideOf(
  found: FoundFlag,
  proxy: ProxyTopic | undefined,
  options: EvalOptions,
  signal: AbortSignal,
): Promise<FlagSide> {
  if (proxy === undefined) return sideInFile(found);
  const { askProxySide } = await import("./ask-side.js");
  return askProxySide(proxy, found.flag.key, options, signal);
}

function timeOf(text: string): number | undefined {
  if (text === "") return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw CliError.usageInvalid(`--at: expected a time such as 2026-11-22T12:00:00Z, got ${quoted(text)}`);
  return ms;
}

function show(
  { flag, topic, place }: FoundFlag,
  explanation: Explanation,
  answer: TypedAnswer,
  io: Io,
  side?: FlagSide,
): void {
  const { colours, print } = io;
  showAnswer(flag.key, answer, `${topic} at ${place}`, io);
  showSide(side, io);
  const { steps, isComplete, result } = explanation;
  if (steps.length > 0) for (const line of ["", ...ruleTree(steps, colours)]) print(line);
  if (!isComplete) print(colours.dim("There were more steps than are shown."));
  if (result === null && flag.state !== "DISABLED")
    print(colours.dim(`The rule gives null, which means the default variant.`));
}

function showSide(side: FlagSide | undefined, { print }: Io): void {
  if (side !== undefined) print(`${side.name ?? "unknown side"}: ${side.message}`);
}

function showAnswer(key: string, answer: TypedAnswer, from: string, { colours, print }: Io): void {
  const { value, variant, reason, errorCode } = answer;
  const message = answer.message === undefined ? undefined : printableLine(cut(answer.message, 2_000));
  const shown = value === undefined ? colours.yellow("(no value)") : colours.green(JSON.stringify(value));
  const facts = [
    `reason ${printableLine(cut(errorCode === undefined ? reason : `${reason} ${errorCode}`))}`,
    ...(variant === undefined ? [] : [`variant ${JSON.stringify(variant)}`]),
    printableLine(from),
  ];
  print(`${colours.bold(printableLine(key))} = ${shown}`);
  print(colours.dim(facts.join(", ")));
  if (message !== undefined) print(errorCode === undefined ? message : colours.red(message));
}

function jsonOf(
  { flag, topic, place, digest }: FoundFlag,
  { steps, isComplete, result }: Explanation,
  answer: TypedAnswer,
): object {
  return {
    key: flag.key,
    ...answer,
    metadata: flag.metadata,
    topic,
    place,
    digest,
    rule: { result, isComplete, steps: steps.map(stepJson) },
  };
}

function stepJson({ operator, args, result, error, evaluator, branch, steps }: RuleStep): object {
  return { operator, args, result, error, evaluator, branch, steps: steps.map(stepJson) };
}

const example = 'such as {"email":"ada@example.com"}';

/**
 * The evaluation context of `--context`.
 *
 * @throws CliError INPUT_UNREADABLE or USAGE_INVALID
 */
async function readContext(given: string, io: Pick<Io, "stdin" | "signal">): Promise<JsonObject> {
  const option = { option: "--context", what: "the context", example: `an object ${example}` };
  const { value, from } = await readJsonOption(given, option, io);
  if (isJsonObject(value)) return value;
  throw CliError.usageInvalid(`${from} must be a JSON object, ${example}`);
}

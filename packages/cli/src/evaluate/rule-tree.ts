import type { RuleStep } from "@bunting/evaluation";
import type { JsonValue } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import type { Colours } from "../terminal/colours.js";
import { printableLine } from "../terminal/escaped-controls.js";

const maxTextCharacters = 60;

/** A step of a rule in words, with the steps below it. */
export interface RuleNode {
  readonly text: string;
  readonly children: readonly RuleNode[];
}

export function ruleNodes(steps: readonly RuleStep[], colours: Colours): RuleNode[] {
  return steps.map((step) => nodeOf(step, "", colours));
}

export function ruleTree(steps: readonly RuleStep[], colours: Colours): string[] {
  return ruleNodes(steps, colours).flatMap(({ text, children }) => [text, ...branches(children, colours)]);
}

function branches(nodes: readonly RuleNode[], colours: Colours): string[] {
  return nodes.flatMap(({ text, children }, index) => {
    const isLast = index === nodes.length - 1;
    const below = branches(children, colours).map((line) => `${colours.dim(isLast ? " " : "│")}  ${line}`);
    return [`${colours.dim(isLast ? "└─" : "├─")} ${text}`, ...below];
  });
}

function nodeOf(step: RuleStep, label: string, colours: Colours): RuleNode {
  const { operator, steps, evaluator } = step;
  const name = evaluator === undefined ? operator : `${operator} ($ref ${evaluator})`;
  const text = `${label}${colours.bold(printableLine(name))}${argumentsOf(step)} → ${outcome(step, colours)}`;
  const isConditional = operator === "if" || operator === "?:";
  if (!isConditional || !Array.isArray(step.args))
    return { text, children: steps.map((inner) => nodeOf(inner, "", colours)) };
  return { text, children: conditionalNodes(step, step.args as readonly JsonValue[], colours) };
}

/** Of an `if`, the conditions that were evaluated, and the branch that was taken. */
function conditionalNodes(
  { branch, steps, result }: RuleStep,
  args: readonly JsonValue[],
  colours: Colours,
): RuleNode[] {
  const last = args.length - 1;
  const rest = [...steps];
  const nodes: RuleNode[] = [];
  for (let index = 0; index < last && index < (branch ?? last); index += 2) {
    const condition = args[index] ?? null;
    const label = index === 0 ? "if " : "else if ";
    const at = rest.findIndex((step) => isSame(step, condition));
    const [step] = at < 0 ? [] : rest.splice(at, 1);
    nodes.push(
      step === undefined
        ? { text: `${label}${show(condition)}`, children: [] }
        : nodeOf(step, label, colours),
    );
  }
  const children = rest.map((step) => nodeOf(step, "", colours));
  if (branch === undefined) return [...nodes, ...children];
  const way = branch === last && branch % 2 === 0 ? "else" : "then";
  const place = colours.dim(`← argument ${branch + 1} of ${args.length}`);
  return [...nodes, { text: `${way} ${colours.green(show(result ?? null))}  ${place}`, children }];
}

function isSame({ operator, args }: RuleStep, rule: JsonValue): boolean {
  return JSON.stringify({ [operator]: args }) === JSON.stringify(rule);
}

/** Arguments that are written out in the rule; those that were evaluated follow as steps. */
function argumentsOf({ operator, args, steps }: RuleStep): string {
  if (operator === "if" || operator === "?:") return "";
  if (steps.length === 0) return ` ${show(args)}`;
  const list = Array.isArray(args) ? (args as readonly JsonValue[]) : [args];
  const constants = list.filter((arg) => typeof arg !== "object" || arg === null || Array.isArray(arg));
  return constants.length === 0 ? "" : ` ${constants.map(show).join(", ")}`;
}

function outcome({ result, error }: RuleStep, { green, red }: Colours): string {
  return error === undefined ? green(show(result ?? null)) : red(`failed: ${printableLine(error)}`);
}

function show(value: JsonValue): string {
  return cut(JSON.stringify(value), maxTextCharacters);
}

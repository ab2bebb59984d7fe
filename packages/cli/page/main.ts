import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { ruleNodes, type RuleNode } from "../src/evaluate/rule-tree.js";
import type { AskedType } from "../src/evaluate/typed-answer.js";
import { coloursFor } from "../src/terminal/colours.js";
import type { FileFinding } from "../src/lint/file-finding.js";
import { evaluateText, readFlagText, type ReadFlags } from "./evaluate-text.js";
import { exampleContext, exampleFlags } from "./example.js";

const plain = coloursFor(false, {});
/** From a key press to the answer: less would read a long text at each letter. */
const waitMs = 150;

const flags = field("flags", HTMLTextAreaElement);
const context = field("context", HTMLTextAreaElement);
const key = field("key", HTMLSelectElement);
const type = field("type", HTMLSelectElement);
const answer = field("answer", HTMLElement);
const facts = field("facts", HTMLElement);
const shares = field("shares", HTMLElement);
const way = field("way", HTMLElement);
const findings = field("findings", HTMLElement);
const summary = field("summary", HTMLElement);

let waiting: number | undefined;
/** Counts readings: a slow one must not overwrite what a later one has shown. */
let reading = 0;

flags.value = exampleFlags;
context.value = exampleContext;
for (const each of [flags, context]) each.addEventListener("input", later);
for (const each of [key, type]) each.addEventListener("change", () => void update());
field("form", HTMLElement).addEventListener("submit", (event) => event.preventDefault());
void update();

function later(): void {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => void update(), waitMs);
}

async function update(): Promise<void> {
  const number = ++reading;
  const read = await readFlagText(flags.value);
  if (number !== reading) return;
  showFindings(read.findings);
  offerKeys(read.keys);
  showAnswer(read);
}

function showAnswer(read: ReadFlags): void {
  way.replaceChildren();
  facts.textContent = "";
  shares.textContent = "";
  const given = contextOf(context.value);
  context.setAttribute("aria-invalid", String(typeof given === "string"));
  if (typeof given === "string") say(given, "bad");
  else if (key.value === "") say("There is no flag to evaluate yet.", "quiet");
  else showEvaluation(read, given);
}

function showEvaluation(read: ReadFlags, given: JsonObject): void {
  try {
    const asked = { key: key.value, context: given, type: type.value as AskedType };
    const { answer: found, explanation, shares: split } = evaluateText(read, asked);
    const { value, variant, reason, errorCode, message } = found;
    const shown = value === undefined ? (message ?? "(no value)") : JSON.stringify(value);
    say(shown, errorCode === undefined ? "good" : "bad");
    facts.textContent = [
      `reason ${errorCode === undefined ? reason : `${reason} ${errorCode}`}`,
      ...(variant === undefined ? [] : [`variant ${JSON.stringify(variant)}`]),
    ].join(", ");
    shares.textContent = split;
    const nodes = ruleNodes(explanation.steps, plain);
    const nothing = "The flag has no rule, or its rule is no operator.";
    way.replaceChildren(nodes.length === 0 ? text("p", nothing) : tree(nodes));
  } catch (error) {
    say((error as Error).message, "bad");
  }
}

function say(sentence: string, kind: "good" | "bad" | "quiet"): void {
  answer.textContent = sentence;
  answer.className = kind;
}

/** The context; or what is wrong with it. */
function contextOf(given: string): JsonObject | string {
  if (given.trim() === "") return {};
  try {
    const value = JSON.parse(given) as JsonValue;
    return isJsonObject(value) ? value : "The context must be a JSON object.";
  } catch (error) {
    return `The context is not JSON: ${(error as Error).message}`;
  }
}

function offerKeys(keys: readonly string[]): void {
  const offered = [...key.options].map(({ value }) => value);
  if (JSON.stringify(offered) === JSON.stringify(keys)) return;
  const chosen = key.value;
  key.replaceChildren(...keys.map((each) => new Option(each, each)));
  if (keys.includes(chosen)) key.value = chosen;
  key.disabled = keys.length === 0;
}

function showFindings(found: readonly FileFinding[]): void {
  summary.textContent =
    found.length === 0 ? "No findings." : `${found.length} ${found.length === 1 ? "finding" : "findings"}:`;
  flags.setAttribute("aria-invalid", String(found.some(({ severity }) => severity === "error")));
  findings.replaceChildren(...found.map(findingItem));
}

/** A finding leads to its place in the text. */
function findingItem({ line, column, severity, message, kind }: FileFinding): HTMLElement {
  const button = text("button", `Line ${line}, column ${column}`);
  button.setAttribute("type", "button");
  button.addEventListener("click", () => goTo(line, column));
  const item = document.createElement("li");
  item.className = severity;
  item.append(button, ` ${severity}: ${message} [${kind}]`);
  return item;
}

function goTo(line: number, column: number): void {
  const lines = flags.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
  const end = start + Math.max(1, (lines[line - 1]?.length ?? 0) - column + 1);
  flags.focus();
  flags.setSelectionRange(start, end);
}

function tree(nodes: readonly RuleNode[]): HTMLElement {
  const list = document.createElement("ul");
  for (const { text: words, children } of nodes) {
    const item = text("li", words);
    if (children.length > 0) item.append(tree(children));
    list.append(item);
  }
  return list;
}

function text(name: string, content: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = content;
  return made;
}

function field<Type extends HTMLElement>(id: string, kind: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no #${id}`);
  return found;
}

import { isDeepStrictEqual } from "node:util";
import type { JsonValue } from "@bunting/protocol";
import { isFixedField, unlistedFields } from "../changed-fields.js";
import type { ExtensionAnswer } from "../extension-answer.js";
import {
  extensionTargets,
  maxExtensionBytes,
  type ExtensionNamespace,
  type ExtensionObject,
  type ExtensionRequest,
  type ExtensionTarget,
} from "../extension-request.js";
import { askExtension } from "./ask-extension.js";
import { valueAtPointer } from "./pointer.js";
import { post, type PostOptions } from "./post.js";
import { sampleObjects } from "./sample-objects.js";

export interface ConformanceOptions extends PostOptions {
  /** What the Extension lists as objects. Default: all. */
  readonly targets?: readonly ExtensionTarget[];
  /** Of one target: what is asked about, in place of a sample. */
  readonly object?: ExtensionObject;
  readonly namespace?: ExtensionNamespace;
  readonly configuration?: JsonValue;
  /** What the Extension lists as `mutates`. Default: nothing, which allows labels, annotations and resources. */
  readonly mutates?: readonly string[];
}

/** What one check found. A remark is about what may be right. */
export interface ConformanceResult {
  readonly outcome: "passed" | "remark" | "failed";
  /** Kind of object that was asked about; undefined for checks of the server as a whole. */
  readonly target?: ExtensionTarget;
  readonly message: string;
}

type Ask = (changes?: Partial<ExtensionRequest>) => Promise<ExtensionAnswer>;

/**
 * Asks an extension what an operator would ask it, and more, and says where its answers are none of the protocol. Results come as they are found; the
 * extension conforms if none of them has failed.
 */
export async function* checkConformance(
  url: string,
  options: ConformanceOptions = {},
): AsyncGenerator<ConformanceResult> {
  const namespace = options.namespace ?? { name: "shop-dev", labels: {}, annotations: {} };
  for (const target of options.targets ?? extensionTargets) {
    const object = options.object ?? sampleObjects(namespace.name)[target];
    const { configuration } = options;
    const request: ExtensionRequest = {
      uid: `bunting-extension-test-${target}`,
      hook: target === "FeatureFlag" ? "lint" : "pre-create",
      target,
      operation: "CREATE",
      dryRun: false,
      namespace,
      object,
      ...(configuration === undefined ? {} : { configuration }),
    };
    const ask: Ask = (changes = {}) => askExtension(url, { ...request, ...changes }, options);
    for await (const result of checkTarget(ask, request, options)) yield { ...result, target };
  }
  yield* checkServer(url, options);
}

async function* checkTarget(
  ask: Ask,
  { object, hook }: ExtensionRequest,
  { mutates }: ConformanceOptions,
): AsyncGenerator<ConformanceResult> {
  const answer = await ask();
  if (answer.kind === "failed") {
    yield { outcome: "failed", message: answer.reason };
    return;
  }
  yield { outcome: "passed", message: `answers: ${described(answer)}` };
  if (answer.kind === "refused" && answer.reason.endsWith("without a reason"))
    yield {
      outcome: "failed",
      message: 'refuses without a reason: answer with a text, or with {"message": "..."}',
    };
  for (const [changes, what] of sameQuestions) yield sameAnswer(answer, await ask(changes), what);
  if (hook === "lint") yield* checkFindings(answer, object);
  else if (answer.kind === "replaced") yield* checkObject(ask, object, answer.object, mutates);
}

/** Changes of a request that must not change the answer. */
const sameQuestions: readonly (readonly [Partial<ExtensionRequest>, string])[] = [
  [{ uid: "bunting-extension-test-again" }, "the same question asked again, with another uid"],
  [{ dryRun: true }, "a dry run"],
  [
    { later: "a field that a later operator sends" } as Partial<ExtensionRequest>,
    "a field that it does not know",
  ],
];

function sameAnswer(first: ExtensionAnswer, again: ExtensionAnswer, what: string): ConformanceResult {
  return isDeepStrictEqual(first, again)
    ? { outcome: "passed", message: `answers the same to ${what}` }
    : { outcome: "failed", message: `answers otherwise to ${what}: ${described(again)}` };
}

function* checkFindings(answer: ExtensionAnswer, object: ExtensionObject): Generator<ConformanceResult> {
  for (const { field, message } of answer.kind === "commented" ? answer.findings : [])
    if (field !== undefined && valueAtPointer(object, field) === undefined)
      yield {
        outcome: "remark",
        message: `the finding "${message}" is at ${field}, where the object has nothing`,
      };
}

async function* checkObject(
  ask: Ask,
  before: ExtensionObject,
  after: ExtensionObject,
  mutates: readonly string[] | undefined,
): AsyncGenerator<ConformanceResult> {
  const unlisted = unlistedFields(before, after, mutates);
  const fixed = unlisted.filter(isFixedField);
  if (fixed.length > 0)
    yield { outcome: "failed", message: `changes which object it is, or whose: ${fixed.join(", ")}` };
  const others = unlisted.filter((field) => !isFixedField(field));
  if (others.length > 0 && mutates === undefined)
    yield {
      outcome: "remark",
      message: `changes what its Extension must list as mutates: ${others.join(", ")}`,
    };
  else if (others.length > 0)
    yield { outcome: "failed", message: `changes what is not listed: ${others.join(", ")}` };
  else if (fixed.length === 0) yield { outcome: "passed", message: "changes what it may" };
  yield settled(after, await ask({ object: after, operation: "UPDATE" }));
}

/** Asked about its own answer, an extension that goes on to change it would add a container with each update. */
function settled(object: ExtensionObject, again: ExtensionAnswer): ConformanceResult {
  const isSettled =
    again.kind === "unchanged" || (again.kind === "replaced" && isDeepStrictEqual(again.object, object));
  return isSettled
    ? { outcome: "passed", message: "leaves its own answer as it is" }
    : { outcome: "failed", message: `does not leave its own answer as it is: ${described(again)}` };
}

/** What no operator sends ends neither the server nor the connection of others. */
async function* checkServer(url: string, options: ConformanceOptions): AsyncGenerator<ConformanceResult> {
  for (const [body, what] of [
    ["{", "a body that is no JSON"],
    [`"${"x".repeat(2 * maxExtensionBytes)}"`, "a body of 2 MB"],
  ] as const) {
    await post(url, body, options).catch(() => undefined);
    options.signal?.throwIfAborted();
    const isThere = await post(url, "{}", options).then(
      () => true,
      () => false,
    );
    yield isThere
      ? { outcome: "passed", message: `answers after ${what}` }
      : { outcome: "failed", message: `answers nothing more after ${what}` };
  }
}

function described(answer: ExtensionAnswer): string {
  switch (answer.kind) {
    case "unchanged":
      return "no change";
    case "replaced":
      return "a changed object";
    case "commented":
      return `${answer.findings.length} finding${answer.findings.length === 1 ? "" : "s"}`;
    case "refused":
      return `refused: ${answer.reason}`;
    case "failed":
      return `failed: ${answer.reason}`;
  }
}

import { isDeepStrictEqual } from "node:util";
import { mostTelling } from "./extension-answer.js";
import { maxExtensionBytes, type ExtensionRequest } from "./extension-request.js";
import { HookRefusal, type ExtensionHooks } from "./hooks.js";
import { readRequest } from "./read-request.js";

/** What goes back to the operator. */
export interface HookResponse {
  readonly status: number;
  /** JSON; undefined if there is nothing to say. */
  readonly body?: string;
}

/** Answers the body of a request by hooks. `report` is told of errors that are no refusals. */
export async function answerRequest(
  body: string,
  hooks: ExtensionHooks,
  report: (error: unknown) => void,
): Promise<HookResponse> {
  const read = readRequest(body);
  if (read.kind !== "request") return explained(read.kind === "unknown" ? 404 : 400, read.problem);
  try {
    const answer = await answerOf(read.request, hooks);
    if (answer === undefined) return { status: 204 };
    const text = JSON.stringify(answer);
    if (Buffer.byteLength(text) <= maxExtensionBytes) return { status: 200, body: text };
    throw new RangeError(`the answer has more than ${maxExtensionBytes} bytes`);
  } catch (error) {
    if (error instanceof HookRefusal) return explained(422, error.message);
    report(error);
    // What went wrong is for who runs the extension, not for who reads the condition of an object.
    return explained(500, "the hook failed; its log says why");
  }
}

/** Undefined if the object may stay as it is. */
async function answerOf(
  request: ExtensionRequest,
  { preCreate, lint }: ExtensionHooks,
): Promise<object | undefined> {
  if (request.hook === "lint") {
    const findings = (await lint?.(request)) ?? [];
    return findings.length === 0 ? undefined : { findings: mostTelling(findings) };
  }
  // JavaScript lets a hook change the object that it got, and return that.
  const before = structuredClone(request.object);
  const object = await preCreate?.(request);
  return object === undefined || isDeepStrictEqual(object, before) ? undefined : object;
}

function explained(status: number, message: string): HookResponse {
  return { status, body: JSON.stringify({ message }) };
}

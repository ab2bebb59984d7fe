import { readAnswer, type ExtensionAnswer } from "../extension-answer.js";
import type { ExtensionRequest } from "../extension-request.js";
import { post, type PostOptions } from "./post.js";

/** Asks an extension at an address that the caller chose, as the operator does. An extension that can't be reached has `failed`. */
export async function askExtension(
  url: string,
  request: ExtensionRequest,
  options: PostOptions = {},
): Promise<ExtensionAnswer> {
  try {
    return readAnswer(request.hook, await post(url, JSON.stringify(request), options));
  } catch (error) {
    options.signal?.throwIfAborted();
    return { kind: "failed", reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return code === "ECONNRESET"
    ? "it closed the connection without an answer"
    : `it can't be reached: ${message === "" ? code : message}`;
}

import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { cut, withTimeLimit } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { requestText } from "../sync/request-text.js";
import { addressText } from "../sync/server-address.js";
import { connectionError, type SyncServer } from "../sync/server.js";
import { tokenAdvice } from "../sync/token-advice.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { TypedAnswer } from "./typed-answer.js";

/**
 * The answer of an agent, by OFREP.
 *
 * @throws CliError SERVER_UNREACHABLE or SERVER_REFUSED
 */
export async function askAgent(
  server: SyncServer,
  key: string,
  context: JsonObject,
  { timeout, signal }: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<TypedAnswer> {
  const path = `/ofrep/v1/evaluate/flags/${encodeURIComponent(key)}`;
  const { status, body } = await answered(server, path, JSON.stringify({ context }), { timeout, signal });
  const answer = objectIn(body);
  const { value, variant, reason, errorCode, errorDetails } = answer ?? {};
  const isAnswer = status === 200 ? typeof reason === "string" : typeof errorCode === "string";
  if (!isAnswer) {
    const said = printableLine(cut(textOf(errorDetails) ?? body.trim(), 300)).replace(/\.$/, "");
    const advice =
      status === 401 ? tokenAdvice(server) : "Is it the OFREP port of an agent, 8016 by default?";
    const message = `${addressText(server.address)} answered ${status}: ${said}. ${advice}`;
    throw new CliError("SERVER_REFUSED", message);
  }
  return {
    value,
    variant: textOf(variant),
    reason: textOf(reason) ?? "ERROR",
    errorCode: textOf(errorCode),
    message: textOf(errorDetails),
  };
}

async function answered(
  server: SyncServer,
  path: string,
  body: string,
  { timeout, signal }: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly body: string }> {
  return withTimeLimit(signal, timeout, async (limit) => {
    try {
      return await requestText(server, { path, body }, limit);
    } catch (cause) {
      signal.throwIfAborted();
      const reason = limit.aborted
        ? `no answer came within ${timeout / 1_000} s`
        : connectionError(cause as Error, server);
      const message = `${addressText(server.address)} can't be reached: ${reason}`;
      throw new CliError("SERVER_UNREACHABLE", message, { cause });
    }
  });
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

import { isJsonObject, isStep, type DocumentWork, type JsonObject, type JsonValue } from "@bunting/protocol";
import { runInSlices } from "@bunting/runtime";
import type { OutboundAnswer, OutboundClient } from "@bunting/outbound";
import { codeOf, HttpFailure, retryAfter, sendableValidator } from "@bunting/sync-client/http";
import { authorization } from "./authorization.js";
import { polledRemote } from "./poll-remote.js";
import { flagsIn, inTurn, jsonValue } from "./read-flag-text.js";
import { RemoteDocumentError, remedies } from "./remote-error.js";
import type { RemoteFlags, RemoteKind, RemoteReading, RemoteSurroundings } from "./remote-kind.js";

const bulkPath = "/ofrep/v1/evaluate/flags";

/**
 * Whom a service is asked for: many refuse a question without a key. A flag that it targets has one value for everybody then, the one for this
 * key: OFREP tells values, and not the rules that lead to them.
 */
const body = JSON.stringify({ context: { targetingKey: "bunting" } });

/** All values of a service of OFREP, each of which becomes a flag of one variant and without a rule. */
export function ofrepRemote(surroundings: RemoteSurroundings): RemoteKind {
  return polledRemote(surroundings, (client, reading) => {
    let last: { readonly etag: string | undefined; readonly flags: RemoteFlags } | undefined;
    return async (signal) => {
      const answer = await client.request(questionOf(reading, surroundings, last?.etag), signal);
      if (answer.status === 304 && last?.etag !== undefined) return last.flags;
      if (answer.status < 200 || answer.status > 299) {
        const failure = refusal(answer, reading);
        // It may be the condition that is refused: the next question has none.
        if (failure.code === "client_error") last = undefined;
        throw failure;
      }
      const bounds = { ...surroundings.limits, room: surroundings.room };
      const flags = await inTurn(reading, async () =>
        flagsIn(await runInSlices(documentOf(jsonValue(answer.body, bounds)))),
      );
      last = { etag: sendableValidator(answer.headers.etag), flags };
      return flags;
    };
  });
}

function questionOf(
  { provider, credential }: RemoteReading,
  { limits }: RemoteSurroundings,
  etag: string | undefined,
): Parameters<OutboundClient["request"]>[0] {
  const url = new URL(provider.uri);
  if (!url.pathname.endsWith(bulkPath)) url.pathname = `${url.pathname.replace(/\/+$/, "")}${bulkPath}`;
  const headers = {
    accept: "application/json",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...authorization(credential),
    ...(provider.selector === undefined ? {} : { "flagd-selector": provider.selector }),
    ...(etag === undefined ? {} : { "if-none-match": etag }),
  };
  return { url: url.href, method: "POST", headers, body, limits };
}

function refusal({ status, headers }: OutboundAnswer, { provider }: RemoteReading): HttpFailure {
  const code = status >= 300 && status < 400 ? "redirect" : codeOf(status);
  const { host } = new URL(provider.uri);
  return new HttpFailure(code, `${host} answered ${status}${remedies[code] ?? ""}`, retryAfter(headers));
}

/** @throws RemoteDocumentError if that is no answer of OFREP */
function* documentOf(answer: JsonValue): DocumentWork<JsonValue> {
  const flags = isJsonObject(answer) ? answer["flags"] : undefined;
  if (!Array.isArray(flags))
    throw new RemoteDocumentError(`the remote sent no answer of OFREP: it has no list "flags"`);
  const entries: [string, JsonObject][] = [];
  for (const [index, flag] of (flags as readonly JsonValue[]).entries()) {
    if (isStep(index)) yield;
    if (!isJsonObject(flag)) continue;
    const { key, value, errorCode } = flag;
    // Without a value an application takes the one in its code: there is nothing to serve.
    if (typeof key === "string" && value !== undefined && value !== null && errorCode === undefined)
      entries.push([key, flagOf(flag, value)]);
  }
  return { flags: Object.fromEntries(entries) };
}

function flagOf({ variant, metadata }: JsonObject, value: JsonValue): JsonObject {
  const name = typeof variant === "string" && variant !== "" ? variant : "value";
  return {
    state: "ENABLED",
    variants: Object.fromEntries([[name, value]]),
    defaultVariant: name,
    ...(isJsonObject(metadata) ? { metadata } : {}),
  };
}

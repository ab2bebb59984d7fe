import { quoted } from "@bunting/runtime";
import type { OauthConfig } from "@bunting/sync-client/http";
import { AgentError } from "../agent-error.js";
import type { SourceContext } from "./grpc-config.js";
import { sentToken } from "./sent-token.js";
import type { HttpSourceConfig } from "./source-config.js";
import type { SourceFieldName, SourceFields } from "./source-fields.js";

/** The fields of such a source, beside those of all. */
export const httpFields: readonly SourceFieldName[] = [
  "authHeader",
  "bearerToken",
  "tokenFile",
  "tokenHostsFile",
  "headers",
  "interval",
  "intervalSeed",
  "timeoutS",
  "certPath",
  "oauth",
];

const defaultIntervalMs = 5_000;
const defaultTimeoutMs = 10_000;

/** @throws AgentError OPTION_INVALID */
export function httpConfig(
  fields: SourceFields,
  sourceIndex: number,
  context: SourceContext,
): HttpSourceConfig {
  const { where } = context;
  const { uri, authHeader, bearerToken, interval, intervalSeed, timeoutS, certPath } = fields;
  if (!isHttpUrl(uri))
    throw AgentError.optionInvalid(
      `${where}: expected http://HOST/PATH or https://HOST/PATH, got ${quoted(uri)}`,
    );
  if (authHeader !== "" && bearerToken !== "")
    throw AgentError.optionInvalid(
      `${where}: both "authHeader" and "bearerToken" are set: only one of them can be sent`,
    );
  const { tokenFile, tokenBinding } = sentToken(fields, { url: uri, remedy: "write https://" }, context);
  const authorization = authHeader === "" && bearerToken !== "" ? `Bearer ${bearerToken}` : authHeader;
  const oauth = oauthConfig(fields, where);
  return {
    provider: "http",
    sourceIndex,
    uri: withoutPassword(uri),
    selector: "",
    url: uri,
    headers:
      authorization === "" || oauth !== undefined ? fields.headers : { ...fields.headers, authorization },
    intervalMs: interval === 0 ? defaultIntervalMs : interval * 1_000,
    intervalSeed,
    timeoutMs: timeoutS === 0 ? defaultTimeoutMs : timeoutS * 1_000,
    certPath,
    tokenFile: authorization === "" ? tokenFile : "",
    tokenBinding,
    oauth,
  };
}

function oauthConfig({ oauth }: SourceFields, where: string): OauthConfig | undefined {
  if (oauth === undefined) return undefined;
  const { clientID: clientId, clientSecret, tokenUrl, folder, reloadDelayS } = oauth;
  if (!isHttpUrl(tokenUrl))
    throw AgentError.optionInvalid(
      `${where}: "tokenUrl" of "oauth" must be an http or https URL, got ${quoted(tokenUrl)}`,
    );
  if (folder === "" && (clientId === "" || clientSecret === ""))
    throw AgentError.optionInvalid(
      `${where}: "oauth" needs "clientID" and "clientSecret", or a "folder" with the files client-id and client-secret`,
    );
  return { tokenUrl, clientId, clientSecret, folder, reloadDelayMs: reloadDelayS * 1_000 };
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** The name of the source is in logs, metadata and /readyz. */
function withoutPassword(text: string): string {
  const url = new URL(text);
  if (url.username === "" && url.password === "") return text;
  url.username = url.password = "";
  return url.href;
}

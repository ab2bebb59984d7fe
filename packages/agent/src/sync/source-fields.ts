import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";

/** One item of `--sources` as it was written, types checked, defaults filled in. What depends on the provider is not checked yet. */
export interface SourceFields {
  readonly uri: string;
  readonly provider: string;
  readonly selector: string;
  readonly providerId: string;
  readonly tls: boolean;
  readonly certPath: string;
  /** The `Authorization` header: flagd's `authHeader`, or the operator's `bearerToken`, which flagd itself drops. */
  readonly authorization: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes; 0 if not given. */
  readonly maxMsgSize: number;
  /** How often to ask, in seconds, for providers that are asked. */
  readonly intervalS: number;
  /** How long one answer may take, in seconds; 0 if not given. */
  readonly timeoutS: number;
  readonly oauth: JsonObject | undefined;
}

const defaultIntervalS = 5;
const maxIntervalS = 86_400;

/** @throws AgentError OPTION_INVALID that names the field and what is expected of it. */
export function readSourceFields(value: JsonValue, where: string): SourceFields {
  if (!isJsonObject(value)) throw invalid(`${where} must be an object such as {"uri":"…","provider":"grpc"}`);
  const source = value;
  const text = (key: string): string => {
    const found = source[key] ?? "";
    if (typeof found !== "string") throw invalid(`${where}: "${key}" must be a string`);
    return found;
  };
  const needed = (key: string): string => {
    const found = text(key);
    if (found === "") throw invalid(`${where}: "${key}" is missing`);
    return found;
  };
  const whole = (key: string, max: number, otherwise: number): number => {
    const found = source[key] ?? otherwise;
    if (typeof found !== "number" || !Number.isInteger(found) || found < 0 || found > max) {
      throw invalid(`${where}: "${key}" must be a whole number from 0 to ${max}`);
    }
    return found;
  };
  const tls = source["tls"] ?? false;
  if (typeof tls !== "boolean") throw invalid(`${where}: "tls" must be true or false`);
  const bearerToken = text("bearerToken");
  const authHeader = text("authHeader") || (bearerToken === "" ? "" : `Bearer ${bearerToken}`);
  const oauth = source["oauth"] ?? undefined;
  if (oauth !== undefined && !isJsonObject(oauth)) throw invalid(`${where}: "oauth" must be an object`);
  return {
    uri: needed("uri"),
    provider: needed("provider"),
    selector: text("selector"),
    providerId: text("providerID"),
    tls,
    certPath: text("certPath"),
    authorization: authHeader === "" ? undefined : authHeader,
    headers: readHeaders(source["headers"], where),
    maxMsgSize: whole("maxMsgSize", 2 ** 31 - 1, 0),
    intervalS: whole("interval", maxIntervalS, 0) || defaultIntervalS,
    timeoutS: whole("timeoutS", maxIntervalS, 0),
    oauth,
  };
}

function readHeaders(value: JsonValue | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw invalid(`${where}: "headers" must be an object of strings`);
  const entries = Object.entries(value).map(([name, content]): [string, string] => {
    const lower = name.toLowerCase();
    // Headers that end in -bin carry bytes, which JSON has no way to write.
    if (!/^[0-9a-z_.-]+$/.test(lower) || lower.startsWith("grpc-") || lower.endsWith("-bin")) {
      throw invalid(`${where}: ${JSON.stringify(name)} can't be the name of a header`);
    }
    if (typeof content !== "string" || !/^[\x20-\x7e]*$/.test(content)) {
      throw invalid(
        `${where}: header ${JSON.stringify(name)} must be a string of printable ASCII characters`,
      );
    }
    return [lower, content];
  });
  return Object.freeze(Object.fromEntries(entries));
}

function invalid(message: string): AgentError {
  return new AgentError("OPTION_INVALID", message);
}

import { isJsonObject, type JsonValue } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";

/**
 * One item of `--sources` as it was written, with types checked and defaults filled in. Checks that depend on the provider come later.
 * Fields that flagd has for other providers, such as `interval` and `oauth`, are ignored.
 */
export interface SourceFields {
  readonly uri: string;
  readonly provider: string;
  readonly selector: string;
  readonly providerId: string;
  readonly tls: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes; 0 if absent. */
  readonly maxMsgSize: number;
}

const maxMsgSizeLimit = 2 ** 31 - 1;

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
  const maxMsgSize = source["maxMsgSize"] ?? 0;
  if (typeof maxMsgSize !== "number" || !isWholeUpTo(maxMsgSizeLimit, maxMsgSize))
    throw invalid(`${where}: "maxMsgSize" must be a whole number from 0 to ${maxMsgSizeLimit}`);
  const tls = source["tls"] ?? false;
  if (typeof tls !== "boolean") throw invalid(`${where}: "tls" must be true or false`);
  return {
    uri: needed("uri"),
    provider: needed("provider"),
    selector: text("selector"),
    providerId: text("providerID"),
    tls,
    headers: readHeaders(source["headers"], where),
    maxMsgSize,
  };
}

function isWholeUpTo(max: number, number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= max;
}

function readHeaders(value: JsonValue | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw invalid(`${where}: "headers" must be an object of strings`);
  const entries = Object.entries(value).map(([name, content]): [string, string] => {
    const lower = name.toLowerCase();
    // Headers that end in -bin carry bytes, which JSON can't express.
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

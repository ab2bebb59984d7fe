import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";

/** One item of `--sources` as it was written, with types checked and defaults filled in. Checks that depend on the provider come later. */
export interface SourceFields {
  readonly uri: string;
  readonly provider: string;
  readonly selector: string;
  readonly providerId: string;
  readonly tls: boolean;
  readonly certPath: string;
  readonly clientCertPath: string;
  readonly clientKeyPath: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes; 0 if absent. */
  readonly maxMsgSize: number;
  readonly incrementalUpdates: boolean;
  readonly authHeader: string;
  readonly bearerToken: string;
  readonly tokenFile: string;
  readonly tokenHostsFile: string;
  /** In seconds; 0 if absent. */
  readonly interval: number;
  readonly intervalSeed: string;
  /** In seconds; 0 if absent. */
  readonly timeoutS: number;
  readonly oauth: OauthFields | undefined;
  /** The names of the fields that have a value other than that of an absent field, as flagd writes them; unknown ones as they were written, those of oauth after `oauth.`. */
  readonly given: readonly string[];
}

export interface OauthFields {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tokenUrl: string;
  readonly folder: string;
  /** In seconds; 0 if absent. */
  readonly reloadDelayS: number;
}

/** Fields of flagd's SourceConfig, bearerToken of the operator, and ours: clientCertPath, clientKeyPath, tokenFile, tokenHostsFile. */
export const sourceFieldNames = [
  "uri",
  "provider",
  "selector",
  "providerID",
  "tls",
  "certPath",
  "clientCertPath",
  "clientKeyPath",
  "headers",
  "maxMsgSize",
  "incrementalUpdates",
  "authHeader",
  "bearerToken",
  "tokenFile",
  "tokenHostsFile",
  "interval",
  "intervalSeed",
  "timeoutS",
  "oauth",
] as const;

const oauthFieldNames = ["clientID", "clientSecret", "tokenUrl", "folder", "reloadDelayS"] as const;

const maxMsgSizeLimit = 2 ** 31 - 1;
/** That of flagd: a day. */
const maxSeconds = 86_400;

/** @throws AgentError OPTION_INVALID that names the field and what is expected of it. */
export function readSourceFields(value: JsonValue, where: string): SourceFields {
  if (!isJsonObject(value)) throw invalid(`${where} must be an object such as {"uri":"…","provider":"grpc"}`);
  const read = fieldReader(value, sourceFieldNames, where);
  const oauth = readOauth(read.value("oauth"), where);
  return {
    uri: read.needed("uri"),
    provider: read.needed("provider"),
    selector: read.text("selector"),
    providerId: read.text("providerID"),
    tls: read.toggle("tls"),
    certPath: read.text("certPath"),
    clientCertPath: read.text("clientCertPath"),
    clientKeyPath: read.text("clientKeyPath"),
    headers: readHeaders(read.value("headers"), where),
    maxMsgSize: read.whole("maxMsgSize", maxMsgSizeLimit),
    incrementalUpdates: read.toggle("incrementalUpdates"),
    authHeader: read.secret("authHeader"),
    bearerToken: read.secret("bearerToken"),
    tokenFile: read.text("tokenFile"),
    tokenHostsFile: read.text("tokenHostsFile"),
    interval: read.whole("interval", maxSeconds),
    intervalSeed: read.text("intervalSeed"),
    timeoutS: read.whole("timeoutS", maxSeconds),
    oauth: oauth?.fields,
    given: [...read.given, ...(oauth?.unknown ?? [])],
  };
}

function readOauth(
  value: JsonValue | undefined,
  where: string,
): { readonly fields: OauthFields; readonly unknown: readonly string[] } | undefined {
  if (value === undefined || value === null) return undefined;
  const at = `${where}: "oauth"`;
  if (!isJsonObject(value)) throw invalid(`${at} must be an object such as {"clientID":"…","tokenUrl":"…"}`);
  const read = fieldReader(value, oauthFieldNames, at);
  const unknown = read.given.filter((name) => !(oauthFieldNames as readonly string[]).includes(name));
  return {
    fields: {
      clientId: read.text("clientID"),
      clientSecret: read.text("clientSecret"),
      tokenUrl: read.needed("tokenUrl"),
      folder: read.text("folder"),
      reloadDelayS: read.whole("reloadDelayS", maxSeconds),
    },
    unknown: unknown.map((name) => `oauth.${name}`),
  };
}

interface FieldReader<Name extends string> {
  value(name: Name): JsonValue | undefined;
  text(name: Name): string;
  needed(name: Name): string;
  /** Text that is sent as a header, and not shown. */
  secret(name: Name): string;
  toggle(name: Name): boolean;
  whole(name: Name, max: number): number;
  readonly given: readonly string[];
}

/** Reads the fields of an object by their names in any case, as Go does: flagd's documentation writes both tokenURL and tokenUrl. */
function fieldReader<Name extends string>(
  object: JsonObject,
  names: readonly Name[],
  where: string,
): FieldReader<Name> {
  const byLowerCase = new Map<string, string>(names.map((name) => [name.toLowerCase(), name]));
  const values = new Map<string, JsonValue>();
  for (const [key, value] of Object.entries(object)) {
    values.set(byLowerCase.get(key.toLowerCase()) ?? key, value);
  }
  const text = (name: Name): string => {
    const found = values.get(name) ?? "";
    if (typeof found !== "string") throw invalid(`${where}: "${name}" must be a string`);
    return found;
  };
  return {
    value: (name) => values.get(name),
    text,
    needed: (name) => {
      const found = text(name);
      if (found === "") throw invalid(`${where}: "${name}" is missing`);
      return found;
    },
    secret: (name) => {
      const found = text(name);
      if (!printable.test(found)) {
        throw invalid(`${where}: "${name}" is sent as a header and can hold printable ASCII characters only`);
      }
      return found;
    },
    toggle: (name) => {
      const found = values.get(name) ?? false;
      if (typeof found !== "boolean") throw invalid(`${where}: "${name}" must be true or false`);
      return found;
    },
    whole: (name, max) => {
      const found = values.get(name) ?? 0;
      if (typeof found !== "number" || !Number.isInteger(found) || found < 0 || found > max) {
        throw invalid(`${where}: "${name}" must be a whole number from 0 to ${max}`);
      }
      return found;
    },
    given: [...values].filter(([, value]) => !isAbsent(value)).map(([name]) => name),
  };
}

function isAbsent(value: JsonValue): boolean {
  return value === null || value === "" || value === false || value === 0;
}

const printable = /^[\x20-\x7e]*$/;

function readHeaders(value: JsonValue | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw invalid(`${where}: "headers" must be an object of strings`);
  const entries = Object.entries(value).map(([name, content]): [string, string] => {
    const lower = name.toLowerCase();
    // Headers that end in -bin carry bytes, which JSON can't express.
    if (!/^[0-9a-z_.-]+$/.test(lower) || lower.startsWith("grpc-") || lower.endsWith("-bin")) {
      throw invalid(`${where}: ${JSON.stringify(name)} can't be the name of a header`);
    }
    if (typeof content !== "string" || !printable.test(content)) {
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

import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";

/**
 * Reads the value of one field, which may be absent.
 *
 * @param at the field, for messages
 * @param where the source that it is of
 */
type FieldReader<T> = (value: JsonValue | undefined, at: string, where: string) => T;
type FieldReaders = Readonly<Record<string, FieldReader<unknown>>>;
type FieldsOf<Readers extends FieldReaders> = { readonly [Name in keyof Readers]: ReturnType<Readers[Name]> };

const maxMsgSizeLimit = 2 ** 31 - 1;
/** That of flagd: a day. */
const maxSeconds = 86_400;

/**
 * Fields of flagd's SourceConfig, bearerToken of the operator, and ours: clientCertPath, clientKeyPath, tokenFile, tokenHostsFile, and
 * type, base, strategy and allowEmpty of remotes. Sizes are in bytes, times in seconds; 0 if absent.
 */
const sourceReaders = {
  uri: needed,
  provider: needed,
  selector: text,
  providerID: text,
  tls: toggle,
  certPath: text,
  clientCertPath: text,
  clientKeyPath: text,
  headers: readHeaders,
  maxMsgSize: whole(maxMsgSizeLimit),
  incrementalUpdates: toggle,
  authHeader: secret,
  bearerToken: secret,
  tokenFile: text,
  tokenHostsFile: text,
  interval: whole(maxSeconds),
  intervalSeed: text,
  timeoutS: whole(maxSeconds),
  oauth: readOauth,
  type: text,
  base: text,
  strategy: text,
  allowEmpty: toggle,
};

const oauthReaders = {
  clientID: text,
  clientSecret: text,
  tokenUrl: needed,
  folder: text,
  reloadDelayS: whole(maxSeconds),
};

export type SourceFieldName = keyof typeof sourceReaders;
export const sourceFieldNames: readonly string[] = Object.keys(sourceReaders);

/** One item of `--sources` as it was written, with types checked and defaults filled in. Checks that depend on the provider come later. */
export type SourceFields = FieldsOf<typeof sourceReaders> & {
  /** The names of the fields that have a value other than that of an absent field, as flagd writes them; unknown ones as they were written, those of oauth after `oauth.`. */
  readonly given: readonly string[];
};

type OauthFields = FieldsOf<typeof oauthReaders> & { readonly unknown: readonly string[] };

/** @throws AgentError OPTION_INVALID that names the field and what is expected of it. */
export function readSourceFields(value: JsonValue, where: string): SourceFields {
  if (!isJsonObject(value))
    throw AgentError.optionInvalid(`${where} must be an object such as {"uri":"…","provider":"grpc"}`);
  const { fields, given } = readFields(value, sourceReaders, where);
  return { ...fields, given: [...given, ...(fields.oauth?.unknown ?? [])] };
}

function readOauth(value: JsonValue | undefined, at: string): OauthFields | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value))
    throw AgentError.optionInvalid(`${at} must be an object such as {"clientID":"…","tokenUrl":"…"}`);
  const { fields, given } = readFields(value, oauthReaders, at);
  const unknown = given.filter((name) => !Object.hasOwn(oauthReaders, name)).map((name) => `oauth.${name}`);
  return { ...fields, unknown };
}

/** Reads the fields of an object by their names in any case, as Go does: flagd's documentation writes both tokenURL and tokenUrl. */
function readFields<Readers extends FieldReaders>(
  object: JsonObject,
  readers: Readers,
  where: string,
): { readonly fields: FieldsOf<Readers>; readonly given: readonly string[] } {
  const byLowerCase = new Map(Object.keys(readers).map((name) => [name.toLowerCase(), name]));
  const values = new Map<string, JsonValue>();
  for (const [key, value] of Object.entries(object))
    values.set(byLowerCase.get(key.toLowerCase()) ?? key, value);
  const fields = Object.entries(readers).map(
    ([name, read]) => [name, read(values.get(name), `${where}: "${name}"`, where)] as const,
  );
  return {
    fields: Object.fromEntries(fields) as FieldsOf<Readers>,
    given: [...values].filter(([, value]) => !isAbsent(value)).map(([name]) => name),
  };
}

function isAbsent(value: JsonValue): boolean {
  return value === null || value === "" || value === false || value === 0;
}

function text(value: JsonValue | undefined, at: string): string {
  const found = value ?? "";
  if (typeof found !== "string") throw AgentError.optionInvalid(`${at} must be a string`);
  return found;
}

function needed(value: JsonValue | undefined, at: string): string {
  const found = text(value, at);
  if (found === "") throw AgentError.optionInvalid(`${at} is missing`);
  return found;
}

/** Text that is sent as a header, and not shown. */
function secret(value: JsonValue | undefined, at: string): string {
  const found = text(value, at);
  if (!isPrintable(found))
    throw AgentError.optionInvalid(`${at} is sent as a header and can hold printable ASCII characters only`);
  return found;
}

function toggle(value: JsonValue | undefined, at: string): boolean {
  const found = value ?? false;
  if (typeof found !== "boolean") throw AgentError.optionInvalid(`${at} must be true or false`);
  return found;
}

function whole(max: number): FieldReader<number> {
  return (value, at) => {
    const found = value ?? 0;
    if (typeof found !== "number" || !Number.isInteger(found) || found < 0 || found > max)
      throw AgentError.optionInvalid(`${at} must be a whole number from 0 to ${max}`);
    return found;
  };
}

function readHeaders(
  value: JsonValue | undefined,
  at: string,
  where: string,
): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw AgentError.optionInvalid(`${at} must be an object of strings`);
  const entries = Object.entries(value).map(([name, content]): [string, string] => {
    const lower = name.toLowerCase();
    // Headers that end in -bin carry bytes, which JSON can't express.
    if (!/^[0-9a-z_.-]+$/.test(lower) || lower.startsWith("grpc-") || lower.endsWith("-bin"))
      throw AgentError.optionInvalid(`${where}: ${JSON.stringify(name)} can't be the name of a header`);
    if (typeof content !== "string" || !isPrintable(content))
      throw AgentError.optionInvalid(
        `${where}: header ${JSON.stringify(name)} must be a string of printable ASCII characters`,
      );
    return [lower, content];
  });
  return Object.freeze(Object.fromEntries(entries));
}

function isPrintable(found: string): boolean {
  return /^[\x20-\x7e]*$/.test(found);
}

import { isJsonObject, isObjectName, type JsonObject, type JsonValue } from "@bunting/protocol";
import { duration, nearestWord, quoted } from "@bunting/runtime/options";

/** The protocols that a remote may speak: a document over HTTP, a stream of a proxy or of flagd, or all values of OFREP at once. */
export const remoteTypes = ["http", "grpc", "ofrep-bulk"] as const;
export type RemoteType = (typeof remoteTypes)[number];

/**
 * Which side a flag is of that both have: with `merge` the FeatureFlag's own, with `override` the remote's. With `replace` only flags of the
 * remote are served, once it has been read.
 */
export const remoteStrategies = ["merge", "override", "replace"] as const;
export type RemoteStrategy = (typeof remoteStrategies)[number];

/** A key of a Secret in the namespace of the FeatureFlag. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** `spec.remoteFlagProvider`: where more flags of a FeatureFlag come from. */
export interface RemoteFlagProvider {
  readonly type: RemoteType;
  /** Of http or https; of grpcs or grpc for the type grpc. */
  readonly uri: string;
  /** What the remote is asked for, of types that have a choice. */
  readonly selector?: string;
  readonly strategy: RemoteStrategy;
  /** Between two questions. */
  readonly intervalMs: number;
  readonly credentials?: { readonly secretRef: SecretKey };
  /** Certificates of the authorities to trust instead of public ones. */
  readonly caSecretRef?: SecretKey;
  /** Many flags may become none at once. */
  readonly allowEmpty: boolean;
}

export interface RemoteProviderProblem {
  readonly message: string;
  /** From the field. */
  readonly path: readonly string[];
}

export type ParsedRemoteProvider =
  { readonly provider: RemoteFlagProvider } | { readonly problems: readonly RemoteProviderProblem[] };

export const remoteProviderDefaults = Object.freeze({
  strategy: "merge",
  interval: "60s",
  allowEmpty: false,
} as const);

const fields = [
  "type",
  "uri",
  "selector",
  "strategy",
  "interval",
  "credentials",
  "caSecretRef",
  "allowEmpty",
];
const interval = duration({ minMs: 5_000, maxMs: 24 * 3_600_000, zero: "use 5s or more" });
const maxUriLength = 2_048;
const maxSelectorLength = 1_024;
const maxKeyLength = 253;
const schemes: Readonly<Record<RemoteType, readonly string[]>> = {
  http: ["https:", "http:"],
  grpc: ["grpcs:", "grpc:"],
  "ofrep-bulk": ["https:", "http:"],
};

/**
 * What the `uri` of a provider calls, as a URL of https or http: `grpcs:` and `grpc:` are schemes whose hosts a URL takes as they are written, so that
 * a host could be checked in one form and called in another one.
 *
 * @throws Error if it is no URL
 */
export function calledUrl(uri: string): URL {
  return new URL(httpForm(uri));
}

function httpForm(uri: string): string {
  return uri.replace(/^grpcs:/i, "https:").replace(/^grpc:/i, "http:");
}

/** Reads the field of a FeatureFlag as it is stored, or says all that is wrong with it. */
export function parseRemoteFlagProvider(value: JsonValue): ParsedRemoteProvider {
  if (!isJsonObject(value))
    return { problems: [{ message: `a remote flag provider is an object with "type" and "uri"`, path: [] }] };
  const reading = new FieldReading();
  reading.refuseUnknown(value, fields, []);
  const type = reading.read(["type"], () => wordOf(value["type"], remoteTypes));
  const uri = reading.read(["uri"], () => uriOf(value["uri"], type));
  const strategy = reading.read(["strategy"], () =>
    wordOf(value["strategy"] ?? remoteProviderDefaults.strategy, remoteStrategies),
  );
  const intervalMs = reading.read(["interval"], () => intervalOf(value["interval"]));
  const selector = reading.read(["selector"], () => selectorOf(value["selector"], type));
  const credentials = readCredentials(value["credentials"], reading);
  const caSecretRef = readSecretKey(value["caSecretRef"], ["caSecretRef"], reading);
  const allowEmpty = reading.read(["allowEmpty"], () => truthOf(value["allowEmpty"]));
  if (
    reading.problems.length > 0 ||
    type === undefined ||
    uri === undefined ||
    strategy === undefined ||
    intervalMs === undefined ||
    allowEmpty === undefined
  )
    return { problems: reading.problems };
  return {
    provider: {
      ...{ type, uri, strategy, intervalMs },
      ...(selector === undefined ? {} : { selector }),
      ...(credentials === undefined ? {} : { credentials: { secretRef: credentials } }),
      ...(caSecretRef === undefined ? {} : { caSecretRef }),
      allowEmpty,
    },
  };
}

/** Gathers what is wrong with the fields, so that an author learns of all of it at once. */
class FieldReading {
  readonly problems: RemoteProviderProblem[] = [];

  /** @param read throws an Error with a sentence if the field is wrong */
  read<Value>(path: readonly string[], read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      this.problems.push({ message: (error as Error).message, path });
      return undefined;
    }
  }

  refuseUnknown(object: JsonObject, known: readonly string[], path: readonly string[]): void {
    for (const field of Object.keys(object)) {
      if (known.includes(field)) continue;
      const meant = nearestWord(field, known);
      const hint = meant === undefined ? `there are ${known.join(", ")}` : `did you mean ${quoted(meant)}?`;
      this.problems.push({ message: `there is no field ${quoted(field)}: ${hint}`, path: [...path, field] });
    }
  }
}

function wordOf<const Word extends string>(value: JsonValue | undefined, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) throw new Error(`write ${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`);
  return found;
}

function truthOf(value: JsonValue | undefined): boolean {
  const truth = value ?? remoteProviderDefaults.allowEmpty;
  if (typeof truth !== "boolean") throw new Error("it must be true or false");
  return truth;
}

function uriOf(value: JsonValue | undefined, type: RemoteType | undefined): string {
  const allowed = type === undefined ? Object.values(schemes).flat() : schemes[type];
  const form = `write ${allowed[0] ?? ""}//, a host and what follows`;
  if (typeof value !== "string" || value.length > maxUriLength || !URL.canParse(value))
    throw new Error(`it must be an address of at most ${maxUriLength} characters: ${form}`);
  const { protocol, hostname, username, password, hash, pathname, search } = new URL(value);
  if (!allowed.includes(protocol) || hostname === "")
    throw new Error(`that is no address of this type: ${form}`);
  if (username !== "" || password !== "")
    throw new Error(
      `it has a user or a password, which everybody may read here: put them into a Secret that "credentials" names`,
    );
  if (hash !== "") throw new Error(`what follows "#" is not sent: leave it out`);
  if (type === "grpc" && (!["", "/"].includes(pathname) || search !== ""))
    throw new Error(`an address of gRPC has no path: what is asked for is the "selector"`);
  if (!URL.canParse(httpForm(value))) throw new Error(`its host is none that can be called: ${form}`);
  return value;
}

function intervalOf(value: JsonValue | undefined): number {
  const text = value ?? remoteProviderDefaults.interval;
  if (typeof text !== "string") throw new Error("write a duration such as 60s or 5m");
  return interval.fromTexts([text]);
}

function selectorOf(value: JsonValue | undefined, type: RemoteType | undefined): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  // It becomes a header.
  if (typeof value !== "string" || value.length > maxSelectorLength || !/^[\x20-\x7e]+$/.test(value))
    throw new Error(`it must be a text of at most ${maxSelectorLength} characters of ASCII`);
  if (type === "http")
    throw new Error(`a document over HTTP has no selector: write what you want into "uri"`);
  return value;
}

function readCredentials(value: JsonValue | undefined, reading: FieldReading): SecretKey | undefined {
  if (value === undefined || value === null) return undefined;
  const object = reading.read(["credentials"], () => objectOf(value, `an object with "secretRef"`));
  if (object === undefined) return undefined;
  const path = ["credentials", "secretRef"];
  reading.refuseUnknown(object, ["secretRef"], ["credentials"]);
  return readSecretKey(object["secretRef"] ?? false, path, reading);
}

function readSecretKey(
  value: JsonValue | undefined,
  path: readonly string[],
  reading: FieldReading,
): SecretKey | undefined {
  if (value === undefined || value === null) return undefined;
  const object = reading.read(path, () =>
    objectOf(value, `an object with the "name" of a Secret and a "key" of it`),
  );
  if (object === undefined) return undefined;
  reading.refuseUnknown(object, ["name", "key"], path);
  const name = reading.read([...path, "name"], () => secretNameOf(object["name"]));
  const key = reading.read([...path, "key"], () => secretFieldOf(object["key"]));
  return name === undefined || key === undefined ? undefined : { name, key };
}

function objectOf(value: JsonValue, expected: string): JsonObject {
  if (!isJsonObject(value)) throw new Error(`it must be ${expected}`);
  return value;
}

function secretNameOf(value: JsonValue | undefined): string {
  if (typeof value !== "string" || !isObjectName(value))
    throw new Error("it must be the name of a Secret in the namespace of the FeatureFlag");
  return value;
}

function secretFieldOf(value: JsonValue | undefined): string {
  if (typeof value !== "string" || value.length > maxKeyLength || !/^[-._a-zA-Z0-9]+$/.test(value))
    throw new Error("it must be a key of the Secret");
  return value;
}

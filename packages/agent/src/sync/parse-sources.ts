import type { JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import { JsonSyntaxError, parseJson } from "../json-syntax.js";
import type { FileSourceConfig, GrpcSourceConfig, SourceConfig } from "./source-config.js";
import { readSourceFields, type SourceFields } from "./source-fields.js";

const fileProviders = ["file", "fsnotify", "fileinfo"];

/** Advice for providers that are not supported. A Map: an object would have a "constructor" without being given one. */
const unsupported = new Map([
  [
    "kubernetes",
    "agents need no access to the Kubernetes API: let bunting-proxy watch the FeatureFlag and name it here as provider grpc with selector core.openfeature.dev/<namespace>/<name>",
  ],
  ...["http", "gcs", "azblob", "s3"].map((provider) => [provider, "use provider grpc or file"] as const),
]);

const uriPrefixes: readonly (readonly [prefix: RegExp, provider: string])[] = [
  [/^file:/, "file"],
  [/^core\.openfeature\.dev\//, "kubernetes"],
  [/^https?:\/\//, "http"],
  [/^(grpcs?|envoy|dns|uds|unix|xds):/, "grpc"],
  [/^gs:\/\//, "gcs"],
  [/^azblob:\/\//, "azblob"],
  [/^s3:\/\//, "s3"],
];

export interface SourceOptionTexts {
  /** Values of `--uri`. */
  readonly uris: readonly string[];
  /** The value of `--sources`: a JSON list; "" for none. */
  readonly sources: string;
}

/**
 * Parses `--uri` and `--sources` as flagd does: those of `--uri` come first, and a later source wins over an earlier one.
 *
 * @throws AgentError OPTION_INVALID or SOURCE_UNSUPPORTED, with a message that says what to change
 */
export function parseSources({ uris, sources }: SourceOptionTexts): readonly SourceConfig[] {
  const described = [
    ...uris.map((uri, i) => ({ where: `--uri ${quoted(uri)}`, fields: fieldsOfUri(uri, i) })),
    ...parseList(sources).map((value, i) => ({
      where: `source ${i + 1} of --sources`,
      fields: readSourceFields(value, `source ${i + 1} of --sources`),
    })),
  ];
  return Object.freeze(described.map(({ where, fields }, i) => Object.freeze(configOf(fields, i, where))));
}

function fieldsOfUri(uri: string, index: number): SourceFields {
  const provider = uriPrefixes.find(([prefix]) => prefix.test(uri))?.[1];
  if (provider === undefined) {
    throw invalid(
      `--uri ${quoted(uri)} has no known prefix: write file:PATH for a file, or grpc://HOST:PORT for a proxy`,
    );
  }
  return readSourceFields({ uri, provider }, `--uri ${index + 1}`);
}

function parseList(text: string): readonly JsonValue[] {
  if (text.trim() === "") return [];
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (!(cause instanceof JsonSyntaxError)) throw cause;
    const near = quoted(text.slice(Math.max(0, cause.position - 10), cause.position + 10));
    throw invalid(
      `--sources is not JSON: ${cause.message} at character ${cause.position + 1}, near ${near}`,
      cause,
    );
  }
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw invalid('--sources must be a list: [{"uri":"…","provider":"…"}]');
}

function configOf(fields: SourceFields, sourceIndex: number, where: string): SourceConfig {
  if (fileProviders.includes(fields.provider)) return fileConfig(fields, sourceIndex);
  if (fields.provider === "grpc") return grpcConfig(fields, sourceIndex, where);
  const remedy = unsupported.get(fields.provider);
  if (remedy === undefined) {
    throw invalid(`${where}: there is no provider ${quoted(fields.provider)}; there are grpc and file`);
  }
  throw new AgentError(
    "SOURCE_UNSUPPORTED",
    `${where}: provider ${fields.provider} is not supported: ${remedy}`,
  );
}

function fileConfig(fields: SourceFields, sourceIndex: number): FileSourceConfig {
  const path = fields.uri.replace(/^file:(\/\/(?=\/))?/, "");
  return { provider: "file", sourceIndex, uri: path, selector: fields.selector, path };
}

function grpcConfig(fields: SourceFields, sourceIndex: number, where: string): GrpcSourceConfig {
  if (fields.tls || fields.uri.startsWith("grpcs://")) {
    throw new AgentError(
      "SOURCE_UNSUPPORTED",
      `${where}: TLS to a source is not supported yet: connect in plaintext, with provider grpc and without tls or grpcs://`,
    );
  }
  if (!/^[\x20-\x7e]*$/.test(fields.selector)) {
    throw invalid(
      `${where}: "selector" is sent as a header and can hold printable ASCII characters only, got ${quoted(fields.selector)}`,
    );
  }
  const uri = fields.uri.replace(/^grpc:\/\//, "");
  const { target, authority } = targetOf(uri, where);
  return {
    provider: "grpc",
    sourceIndex,
    uri,
    selector: fields.selector,
    target,
    authority,
    providerId: fields.providerId,
    headers: fields.headers,
    maxMessageBytes: fields.maxMsgSize === 0 ? undefined : fields.maxMsgSize,
  };
}

/** Translates targets of grpc-go and flagd to those of grpc-js. */
function targetOf(uri: string, where: string): { target: string; authority: string | undefined } {
  if (uri.startsWith("xds:")) {
    throw new AgentError(
      "SOURCE_UNSUPPORTED",
      `${where}: xds targets are not supported: use dns:///HOST:PORT`,
    );
  }
  const envoy = /^envoy:\/\/([^/]+)\/(.+)$/.exec(uri);
  if (envoy !== null) return { target: `dns:///${envoy[1] ?? ""}`, authority: envoy[2] };
  if (uri.startsWith("envoy:"))
    throw invalid(`${where}: expected envoy://HOST:PORT/SERVICE, got ${quoted(uri)}`);
  if (uri === "") throw invalid(`${where}: the address after grpc:// is missing`);
  return { target: uri.replace(/^uds:/, "unix:"), authority: undefined };
}

function invalid(message: string, cause?: unknown): AgentError {
  return new AgentError("OPTION_INVALID", message, { cause });
}

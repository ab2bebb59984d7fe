import type { Answer } from "./answer.js";
import type { Difference } from "./compare-answers.js";
import type { GoldenCase } from "./golden-case.js";

/** Differences that are wanted, with the line of the docs that says so. */
export interface DeliberateDifference {
  readonly name: string;
  /** A page in docs/, and words that are in it. */
  readonly docs: readonly [page: string, words: string];
  readonly covers: (one: GoldenCase, difference: Difference, got: Answer) => boolean;
}

const evaluation = "evaluation-differences.md";
const protocol = "protocol-differences.md";

const starts = (path: Difference["path"], ...names: readonly string[]): boolean =>
  names.every((name, at) => path[at] === name);

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Whether two flags differ only in a member. */
function differOnlyIn(name: string, want: unknown, got: unknown): boolean {
  if (!isRecord(want) || !isRecord(got)) return false;
  return JSON.stringify({ ...want, [name]: 0 }) === JSON.stringify({ ...got, [name]: 0 });
}

function isNothing(stage: unknown): boolean {
  return Array.isArray(stage) && stage.length === 0;
}

/** The keys in an event, or in the messages of a stage. */
function changedKeys(path: Difference["path"], got: unknown): readonly string[] {
  if (path.at(-1) === "type") return [String(path.at(-2))];
  return (got as readonly { readonly data: { readonly flags?: object } | null }[]).flatMap(({ data }) =>
    Object.keys(data?.flags ?? {}),
  );
}

/** Whether several documents of a case have a flag with this key. */
function hasSeveral({ server, edits = [] }: GoldenCase, key: string): boolean {
  const files = [...server.sources, ...edits.flatMap(({ set }) => set)];
  const name = JSON.stringify(key);
  const having = files.filter(
    ({ text = "" }) =>
      text.includes(`${name}:{"state"`) || text.includes(`"key":${name}`) || text.includes(`${key}:\n`),
  );
  return new Set(having.map(({ uri }) => uri)).size > 1;
}

/** What the evaluation of a flag may end with. */
const statuses: ReadonlySet<string> = new Set([
  "OK",
  "NOT_FOUND",
  "INVALID_ARGUMENT",
  "DATA_LOSS",
  "UNKNOWN",
]);

export const deliberateDifferences: readonly DeliberateDifference[] = [
  {
    name: "names in another case",
    docs: [evaluation, "names of a flag's parts in another case"],
    covers: ({ breaks }, { path }) => breaks === "other-case" && path[0] !== "headers",
  },
  {
    name: "metadata that is a list, an object or null",
    docs: [evaluation, "metadata that is a list or an object"],
    covers: ({ breaks }, { path, want, got }) =>
      (path.includes("metadata") && got === undefined && (want === null || typeof want === "object")) ||
      (breaks === "listed-metadata" && differOnlyIn("metadata", want, got)),
  },
  {
    name: "FALLBACK over schema.v1",
    docs: [evaluation, "internal reason `FALLBACK`"],
    covers: (_, { path, want, got }) =>
      (path.at(-1) === "reason" && want === "FALLBACK" && got === "DEFAULT") ||
      (isRecord(want) && want["reason"] === "FALLBACK" && differOnlyIn("reason", want, got)),
  },
  {
    name: "ETag of OFREP",
    docs: [protocol, "`ETag` of all flags over OFREP"],
    covers: (_, { path, want, got }) =>
      (starts(path, "headers", "etag") && want === undefined) ||
      (path[0] === "kind" && want === "HTTP 200" && got === "HTTP 304"),
  },
  {
    name: "the id of no flag set",
    docs: [protocol, "the selector `flagSetId=`"],
    covers: (_, { path, want, got }) =>
      (path.at(-1) === "flagSetId" && want === undefined && got === "") ||
      (isRecord(got) &&
        isRecord(got["metadata"]) &&
        got["metadata"]["flagSetId"] === "" &&
        differOnlyIn("metadata", want, got)),
  },
  {
    name: "streams end with UNAVAILABLE at shutdown",
    docs: [protocol, "streams when it shuts down"],
    // Connect writes its codes in lower case.
    covers: (one, { path, got }) =>
      one.class === "shutdown" && path[0] === "kind" && String(got).toUpperCase() === "UNAVAILABLE",
  },
  {
    name: "an unknown gRPC method",
    docs: [protocol, "a gRPC method that does not exist"],
    covers: (_, { path, want, got }) => path[0] === "kind" && want === "HTTP 404" && got === "UNIMPLEMENTED",
  },
  {
    name: "gRPC-Web in text",
    docs: [protocol, "gRPC-Web in text"],
    covers: (one, { path, want, got }) =>
      one.class === "grpc-web-text" && path[0] === "kind" && want === "HTTP 415" && statuses.has(String(got)),
  },
  {
    name: "pages of errors",
    docs: [protocol, "the text of error pages"],
    covers: ({ answer }, { path, want, got }) =>
      (answer.status ?? 0) >= 400 &&
      ((path[0] === "kind" &&
        /^HTTP 4\d\d$/.test(String(want)) &&
        String(got).startsWith(`${String(want)} `)) ||
        (answer.text !== undefined && ["text", "json"].includes(String(path[0]))) ||
        (answer.json === undefined && starts(path, "headers", "content-type"))),
  },
  {
    name: "headers that are too large, over HTTP/2",
    docs: [protocol, "headers that are too large, over HTTP/2"],
    covers: (one, { path, want, got }) =>
      one.class === "limits" &&
      path[0] === "kind" &&
      String(want).startsWith("reset:") &&
      /^(reset:|closed|HTTP 431)/.test(String(got)),
  },
  {
    name: "probes have a body",
    docs: [protocol, "`/healthz` and `/readyz`"],
    covers: (one, { path, want }) =>
      one.class === "management" &&
      ((path[0] === "text" && want === "") ||
        (starts(path, "headers", "content-type") && want === undefined)),
  },
  {
    name: "a flag that is removed from the source that wins",
    docs: [protocol, "a flag is removed from the source that wins"],
    covers: (one, { path, want, got }) =>
      /-edit(ed|s)$/.test(one.class) &&
      /a flag less|another set|no flags|all flags gone/.test(one.about) &&
      path.includes("flags") &&
      ((want === undefined && got !== undefined) ||
        // In a list, a value must have the type of the flag's default variant: that of the earlier source.
        (one.class === "ofrep-bulk-edited" && isRecord(got) && got["errorCode"] === "GENERAL")),
  },
  {
    name: "events of flags with the same key",
    docs: [protocol, "a change of one of several flags with the same key"],
    covers: (one, { path, want, got }) =>
      one.class.endsWith("stream-edits") &&
      path[0] === "stages" &&
      (path.at(-1) === "type" || isNothing(want)) &&
      changedKeys(path, got).every((key) => hasSeveral(one, key)),
  },
  {
    name: "the encodings that an unknown one could have been",
    docs: [protocol, "a gRPC message in an unknown encoding"],
    covers: (_, { path, want, got }) =>
      starts(path, "headers", "grpc-accept-encoding") && want === undefined && got === "gzip, identity",
  },
  {
    name: "a method of HTTP that node does not know",
    docs: [protocol, "a method of HTTP that node does not know"],
    covers: ({ request }, { path, got }) =>
      ["FOO", "post"].includes(request.method ?? "") && path[0] === "kind" && got === "HTTP 400",
  },
  {
    name: "HTTP/1.1 that breaks its rules",
    docs: [protocol, "HTTP/1.1 that breaks its rules"],
    covers: ({ request, about }, { path, got }) =>
      request.http === "raw" &&
      /^(obsolete line folding|bad chunk)/.test(about) &&
      path[0] === "kind" &&
      got === "HTTP 400",
  },
  {
    name: "a header over HTTP/2 that begins or ends with white space",
    docs: [protocol, "a header over HTTP/2 that begins or ends with white space"],
    covers: ({ request }, { path, want }) =>
      request.http === "2" &&
      (request.headers ?? []).some(([, value]) => value.startsWith(" ")) &&
      path[0] === "kind" &&
      /invalid_argument$/i.test(String(want)),
  },
  {
    name: "an upgrade from HTTP/1.1 to h2c",
    docs: [protocol, "asks for an upgrade to h2c"],
    // What flagd answered with gzip could not be read after the upgrade, as its headers could not.
    covers: ({ request, answer }, { path, want, got }) =>
      request.http === "h2c-upgrade" &&
      ((path[0] === "upgraded" && want === true && got === undefined) ||
        (answer.text === "*" && ["text", "json"].includes(String(path[0])))),
  },
  {
    name: "HTTP/1.1 on port 8015",
    docs: [protocol, "HTTP/1.1 on port 8015"],
    covers: ({ request }, { path, want, got }) =>
      request.port === "sync" &&
      request.http !== "2" &&
      path[0] === "kind" &&
      want === "closed" &&
      got === "HTTP 505",
  },
  {
    name: "a gzipped request that unfolds to more than may be sent",
    docs: [protocol, "a gzipped request that unfolds to more than `--max-request-body`"],
    covers: ({ about }, { path, got }) =>
      about.startsWith("gzip that unfolds to ") &&
      path[0] === "kind" &&
      got === "HTTP 429 resource_exhausted",
  },
  {
    name: "a document with a byte order mark",
    docs: [evaluation, "a document that begins with a byte order mark"],
    // It is the last of several edits, after the stage without any; flagd keeps what was before.
    covers: ({ edits = [], about }, { path, want, got }) =>
      about.endsWith("; a BOM") &&
      ((path[0] === "stages" && path[1] === edits.length && isNothing(want)) ||
        (path[0] === "kind" && want === "NOT_FOUND" && got === "OK")),
  },
];

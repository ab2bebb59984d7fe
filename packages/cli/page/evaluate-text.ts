import { explain, type Explanation } from "@bunting/evaluation";
import { plainTopicOf, readManifest } from "@bunting/featureflags/manifests";
import { withRefusedFlags, type JsonObject } from "@bunting/protocol";
import { countUsers } from "../src/evaluate/count-users.js";
import { findFlag, type FoundFlag } from "../src/evaluate/find-flag.js";
import { typedAnswer, type AskedType, type TypedAnswer } from "../src/evaluate/typed-answer.js";
import type { InputDocument } from "../src/input/read-documents.js";
import type { FileFinding } from "../src/lint/file-finding.js";
import { lintText } from "../src/lint/lint-text.js";
import { textBytes } from "./node-parts.js";

/** What an API server stores in one object. */
const maxDocumentBytes = 1.5 * 1024 * 1024;

export interface ReadFlags {
  readonly findings: readonly FileFinding[];
  readonly documents: readonly InputDocument[];
  readonly keys: readonly string[];
}

/** Reads and checks a text as `bunting lint` does a file. */
export async function readFlagText(text: string): Promise<ReadFlags> {
  // A name without an end is one of YAML, which holds JSON as well.
  const file = "flags.yaml";
  // A mark at the beginning of the bytes is none of the text.
  const bytes = textBytes(text.replace(/^\uFEFF/, "")) as Buffer;
  const [{ findings }, manifest] = await Promise.all([
    lintText(file, bytes, { maxDocumentBytes, name: file }),
    readManifest(file, bytes, plainTopicOf(file)),
  ]);
  const documents = manifest.flags.map(({ topic, document, refused = [], line }) => ({
    topic,
    document: withRefusedFlags({ document, refused }),
    place: `line ${line}`,
  }));
  const keys = documents.flatMap(({ document }) => Object.keys(document.flags));
  return { findings, documents, keys: [...new Set(keys)] };
}

export interface Asked {
  readonly key: string;
  readonly context: JsonObject;
  readonly type: AskedType;
}

/**
 * The answer of an agent that has these flags, and how it came about.
 *
 * @throws CliError or FlagError, whose messages are sentences for people
 */
export function evaluateText(
  { documents }: ReadFlags,
  { key, context, type }: Asked,
): { readonly answer: TypedAnswer; readonly explanation: Explanation; readonly shares: string } {
  const topic = documents.find(({ document }) => Object.hasOwn(document.flags, key))?.topic ?? "";
  const found = findFlag(documents, key, topic);
  const { flag, evaluators } = found;
  const explanation = explain(flag, context, { evaluators });
  return { answer: typedAnswer(explanation, type), explanation, shares: sharesOf(found, context, type) };
}

/** What a thousand users get, as a sentence; "" for a flag that does not split them. */
function sharesOf(found: FoundFlag, context: JsonObject, type: AskedType): string {
  if (!JSON.stringify([found.flag.targeting, found.evaluators]).includes('"fractional"')) return "";
  const counts = countUsers(found, context, { users: 1_000, type, nowMs: undefined });
  const parts = counts.map(
    ({ users, variant, errorCode }) =>
      `${users} get ${variant === undefined ? (errorCode ?? "no value") : JSON.stringify(variant)}`,
  );
  return `Of 1,000 users with keys of their own and else this context, ${parts.join(", ")}.`;
}

import { emptyFlagDocument, type FlagDocument } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { standardInput } from "../input/read-input.js";
import { printableLine } from "../terminal/escaped-controls.js";
import { plural } from "../terminal/plural.js";
import { compareDocuments, type FlagDifference } from "./compare-documents.js";
import type { diffOptionTable } from "./diff-options.js";
import { differenceLines } from "./print-differences.js";
import { readDocuments, type InputDocument } from "../input/read-documents.js";
import type { ConnectionOptions } from "../sync/connection-options.js";
import { parseProxyUrl } from "../sync/server-address.js";
import type { Io } from "../terminal/io.js";

interface TopicDifference {
  readonly topic: string;
  readonly kind: "added" | "removed" | "changed";
  readonly flags: readonly FlagDifference[];
}

type Side = Awaited<ReturnType<typeof readSide>>;

/** `bunting diff`; resolves with the exit code. */
export async function runDiff({ options, words, io }: CommandCall<typeof diffOptionTable>): Promise<number> {
  const [a, b, ...rest] = words;
  if (a === undefined || b === undefined || rest.length > 0)
    throw CliError.usageInvalid("expected A and B to compare: bunting diff before.yaml after.yaml");
  if (a === standardInput && b === standardInput)
    throw CliError.usageInvalid("only one of A and B can come from the standard input");
  const before = await readSide(a, options, io);
  const after = await readSide(b, options, io);
  const topics = compareSides(before, after);
  if (options.json) io.print(JSON.stringify({ topics }, null, 2));
  else {
    const isOne = before.length === 1 && after.length === 1;
    for (const { topic, kind, flags } of topics) {
      const how = kind === "changed" ? "" : ` (${kind}, ${plural(flags.length, "flag")})`;
      if (!isOne) io.print(io.colours.bold(`${printableLine(topic)}${how}`));
      for (const line of differenceLines(flags, io.colours)) io.print(line);
    }
  }
  return topics.length === 0 ? 0 : 1;
}

function compareSides(before: Side, after: Side): readonly TopicDifference[] {
  const [one] = before;
  const [other] = after;
  if (one !== undefined && other !== undefined && before.length === 1 && after.length === 1) {
    const flags = compareDocuments(one.document, other.document);
    return flags.length === 0 ? [] : [{ topic: other.topic, kind: "changed", flags }];
  }
  const old = byTopic(before);
  const now = byTopic(after);
  const topics = [...new Set([...old.keys(), ...now.keys()])].sort();
  return topics.flatMap((topic): readonly TopicDifference[] => {
    const was = old.get(topic);
    const is = now.get(topic);
    const kind = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const flags = compareDocuments(was ?? emptyFlagDocument, is ?? emptyFlagDocument);
    return flags.length === 0 && kind === "changed" ? [] : [{ topic, kind, flags }];
  });
}

function byTopic(side: Side): ReadonlyMap<string, FlagDocument> {
  const documents = new Map<string, FlagDocument>();
  for (const { topic, document } of side) {
    if (documents.has(topic))
      throw CliError.inputInvalid(`${topic} is in several files of one side: compare the files one by one`);
    documents.set(topic, document);
  }
  return documents;
}

/** One side of a comparison: a file, a directory, the standard input, or a topic of a proxy. */
async function readSide(
  word: string,
  options: ConnectionOptions & { readonly timeout: number },
  io: Io,
): Promise<readonly Pick<InputDocument, "topic" | "document">[]> {
  const url = parseProxyUrl(word);
  if (url === undefined) return readDocuments(word, io);
  const { address, topic } = url;
  // Most comparisons are of files.
  const [{ fetchTopic }, { serverAt }] = await Promise.all([
    import("../sync/fetch-topic.js"),
    import("../sync/server.js"),
  ]);
  const { document } = await fetchTopic(serverAt(address, options), topic, options.timeout, io.signal);
  return [{ topic, document }];
}

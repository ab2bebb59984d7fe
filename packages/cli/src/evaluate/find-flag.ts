import { evaluatorsOf, metadataOf, parseFlag, type Flag } from "@bunting/evaluation";
import type { JsonObject } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { LiveDocument } from "./live-documents.js";

/** A flag, with the document it is in. */
export interface FoundFlag {
  readonly flag: Flag;
  readonly evaluators: JsonObject;
  readonly topic: string;
  readonly place: string;
  /** The digest of the document, if a server reported it. */
  readonly digest?: string | undefined;
  /** The remote that its FeatureFlag names, unchecked; undefined without one. */
  readonly provider?: JsonObject | undefined;
}

/**
 * Finds the flag with the key in the only document that has it.
 *
 * @throws CliError FLAG_UNKNOWN or USAGE_INVALID; FlagError if agents refuse the flag.
 */
export function findFlag(documents: readonly LiveDocument[], key: string, topic: string): FoundFlag {
  const asked = documents.filter((one) => topic === "" || one.topic === topic);
  if (asked.length === 0) {
    const topics = documents.map((one) => one.topic).join(", ");
    throw new CliError(
      "FLAG_UNKNOWN",
      `there is no FeatureFlag ${quoted(topic)} in the file: it has ${topics}`,
    );
  }
  const found = asked.filter(({ document }) => Object.hasOwn(document.flags, key));
  const [first] = found;
  if (first === undefined) throw new CliError("FLAG_UNKNOWN", unknownText(asked, key));
  if (found.length > 1) {
    const topics = found.map((one) => one.topic).join(", ");
    throw CliError.usageInvalid(`the flag ${quoted(key)} is in ${topics}: choose one with --topic`);
  }
  const { document, place, digest, provider } = first;
  const evaluators = evaluatorsOf(document.$evaluators ?? {});
  const flag = parseFlag(key, document.flags[key] ?? null, {
    metadata: metadataOf(document.metadata ?? {}),
    evaluators,
    source: "",
    sourceIndex: 0,
  });
  return { flag, evaluators, topic: first.topic, place, digest, provider };
}

const maxListed = 10;

function unknownText(documents: readonly LiveDocument[], key: string): string {
  const keys = documents.flatMap(({ document }) => Object.keys(document.flags));
  const start = key.slice(0, 3).toLowerCase();
  const near = keys.filter((one) => one.toLowerCase().includes(start));
  const listed = (near.length > 0 ? near : keys).slice(0, maxListed).map((one) => quoted(one));
  return `there is no flag ${quoted(key)}: ${listed.length === 0 ? "there are none" : `there ${listed.length === 1 ? "is" : "are"} ${listed.join(", ")}`}`;
}

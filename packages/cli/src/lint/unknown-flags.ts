import { didYouMean } from "@bunting/runtime/options";
import type { FileFinding } from "./file-finding.js";
import type { NamedFlag } from "./lint-objects.js";

/**
 * Remarks about FeatureFlags that sources name and that are in none of the files. They may be elsewhere, so none of them is an error; and where
 * no FeatureFlag is among the files at all, nothing is remarked.
 *
 * @param topics of the FeatureFlags in all files
 */
export function unknownFlags(
  named: readonly (NamedFlag & Pick<FileFinding, "file">)[],
  topics: readonly string[],
): readonly FileFinding[] {
  const known = new Set(topics);
  if (known.size === 0) return [];
  const names = new Set(topics.map(nameOf));
  // A namespace that a file does not say is that of whoever applies it.
  const placeless = new Set(topics.filter((topic) => topic.startsWith("default/")).map(nameOf));
  const isKnown = ({ topic, hasNamespace }: NamedFlag): boolean =>
    known.has(topic) || (hasNamespace ? placeless : names).has(nameOf(topic));
  return named
    .filter((one) => !isKnown(one))
    .map(({ file, line, column, topic }) => {
      const message = `none of these files has the FeatureFlag ${topic}${didYouMean(nameOf(topic), names)}`;
      return { file, line, column, severity: "remark", kind: "unknown-flag", message };
    });
}

function nameOf(topic: string): string {
  return topic.slice(topic.indexOf("/") + 1);
}

import { resolve } from "node:path";
import { flagFileExtensions, isFlagFileName } from "@bunting/featureflags/manifests";
import {
  isFileTopicName,
  isObjectName,
  parsePrefixedSelector,
  parseTopicSelector,
  ProtocolError,
  type TopicKey,
} from "@bunting/protocol";

const filePrefix = "file:";

/**
 * Reads what a subscriber asks for: a FeatureFlag (`core.openfeature.dev/ns/name`, `ns/name`) or, where that is allowed, a file of flags
 * (`file:PATH`; relative paths start at the working directory). A file's topic is `file:` and its absolute path, so that it can't be
 * mistaken for a FeatureFlag's, whose namespace has no colon.
 *
 * @throws ProtocolError SELECTOR_INVALID with a sentence for the subscriber.
 */
export function parseSelector(
  selector: string,
  options: {
    readonly allowFileSelectors: boolean;
    /** Prefixes of topics; "" for topics without one; default: no topic has a prefix. */
    readonly prefixes?: readonly string[] | undefined;
    /** Whether topics may have names of files; default: only those that Kubernetes accepts. */
    readonly allowFileNames?: boolean;
  },
): TopicKey {
  if (!selector.startsWith(filePrefix)) {
    const { prefixes, allowFileNames = false } = options;
    const isName = allowFileNames ? isFileTopicName : isObjectName;
    return prefixes === undefined
      ? parseTopicSelector(selector, isName)
      : parsePrefixed(selector, prefixes, isName);
  }
  if (!options.allowFileSelectors)
    throw invalid("selectors that name a file are off: the proxy allows them with --allow-file-selectors");
  const path = selector.slice(filePrefix.length);
  if (path === "" || path.includes("\0")) throw invalid("the selector names no file: expected file:PATH");
  if (!isFlagFileName(path))
    throw invalid(`the file of the selector must end in ${[...flagFileExtensions].join(", ")}`);
  return `file:${resolve(path)}` as TopicKey;
}

function parsePrefixed(
  selector: string,
  prefixes: readonly string[],
  isName: (text: string) => boolean,
): TopicKey {
  const { prefix, topic } = parsePrefixedSelector(selector, isName);
  if (prefixes.includes(prefix)) return `${prefix}${topic}`;
  const known = prefixes.filter((each) => each !== "").join(", ");
  throw invalid(`the selector begins with none of the prefixes that this proxy serves: ${known}`);
}

/** The absolute path of a topic that is a file; undefined if it is a FeatureFlag. */
export function filePathOf(topic: TopicKey): string | undefined {
  return topic.startsWith(filePrefix) ? topic.slice(filePrefix.length) : undefined;
}

function invalid(message: string): ProtocolError {
  return new ProtocolError("SELECTOR_INVALID", message);
}

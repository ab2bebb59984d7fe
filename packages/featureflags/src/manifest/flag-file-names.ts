import { extname, basename } from "node:path";
import { isFileTopicName, topicKey } from "@bunting/protocol";
import type { PlainTopic } from "./manifest.js";

/** What the name of a file that may hold flags ends with. */
export const flagFileExtensions: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** True if a file of this name may hold flags; capitals make no difference. */
export function isFlagFileName(path: string): boolean {
  return flagFileExtensions.has(extname(path).toLowerCase());
}

/** The topic that a plain flagd file gets from its name. */
export function plainTopicOf(path: string): PlainTopic {
  const name = basename(path, extname(path));
  if (isFileTopicName(name)) return { topic: topicKey("default", name) };
  const problem = `a flagd file is served as default/<its name>, and a selector can't hold "${name}": rename the file to printable ASCII characters`;
  return { problem };
}

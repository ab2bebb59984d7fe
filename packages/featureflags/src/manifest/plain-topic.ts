import { basename, extname } from "node:path";
import { isObjectName, topicKey } from "@bunting/protocol";
import type { PlainTopic } from "./manifest.js";

/** The topic that a plain flagd file gets from its name. */
export function plainTopicOf(path: string): PlainTopic {
  const name = basename(path, extname(path));
  if (isObjectName(name)) return { topic: topicKey("default", name) };
  const problem = `a flagd file is served as default/<its name>, and "${name}" is no name that Kubernetes accepts: rename the file to small letters, digits, "-" and "."`;
  return { problem };
}

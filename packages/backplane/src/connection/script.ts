import { createHash } from "node:crypto";

/** A script that Redis runs as one step. Redis knows it by its hash, once it was sent. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

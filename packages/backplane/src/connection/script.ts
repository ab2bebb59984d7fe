import { createHash } from "node:crypto";

/** A script that Redis runs as one step. Redis knows it by its hash, once it was sent. */
export interface Script<Answer> {
  readonly text: string;
  readonly sha: string;
  /** @throws BackplaneError REDIS_FAILED if what was answered is not of this script */
  readonly read: (answer: unknown) => Answer;
}

export function script<Answer>(text: string, read: (answer: unknown) => Answer): Script<Answer> {
  return { text, sha: createHash("sha1").update(text).digest("hex"), read };
}

import { readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Metadata } from "@bunting/evaluation";
import type { JsonObject, JsonValue } from "@bunting/protocol";

/** What the real Go evaluator of flagd answered to a document and a context. */
export interface GoldenAnswer {
  readonly tier: "A" | "B" | "C";
  readonly doc: {
    readonly flags: JsonObject;
    readonly metadata?: Metadata;
    readonly $evaluators?: JsonObject;
  };
  readonly key: string;
  readonly ctx: JsonObject;
  /** Go refuses the whole document for one bad flag; we refuse only that flag. */
  readonly documentRefused?: string;
  readonly expect: {
    readonly value?: JsonValue;
    readonly variant?: string;
    readonly reason: string;
    readonly errorCode?: string;
    readonly metadata?: Metadata;
  };
}

const file = path.join(import.meta.dirname, "../fixtures/evaluation/golden.jsonl.gz");

export const goldenAnswers: readonly GoldenAnswer[] = gunzipSync(readFileSync(file))
  .toString("utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as GoldenAnswer);

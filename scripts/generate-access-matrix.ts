/** Renders the tables of docs/security.md that say which caller gets which answer. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  accessMatrix,
  answers,
  callers,
  topics,
  type CallerKind,
  type MatrixMode,
  type TopicRelation,
} from "@bunting/proxy/internal/access/access-matrix.js";
import { format } from "prettier";
import { replaceGenerated } from "./replace-generated.js";

const file = path.join(path.dirname(import.meta.dirname), "docs/security.md");
const tables = accessMatrix.map(tableOf).join("\n");
const source = "packages/proxy/src/access/access-matrix.ts";
const next = replaceGenerated(readFileSync(file, "utf8"), source, tables);
writeFileSync(file, await format(next, { parser: "markdown", printWidth: 110, proseWrap: "preserve" }));

function tableOf({ args, note, callers: rows }: MatrixMode): string {
  const kinds = Object.keys(rows) as CallerKind[];
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const lines = (Object.keys(topics) as TopicRelation[]).map((topic) =>
    line([topics[topic], ...kinds.map((kind) => answerOf(rows, kind, topic))]),
  );
  return [
    `#### \`${args.join(" ")}\``,
    "",
    ...(note === "" ? [] : [note, ""]),
    line(["", ...kinds.map((kind) => callers[kind])]),
    line(["---", ...kinds.map(() => "---")]),
    ...lines,
    "",
  ].join("\n");
}

function answerOf(rows: MatrixMode["callers"], kind: CallerKind, topic: TopicRelation): string {
  const answer = rows[kind]?.[topic];
  return answer === undefined ? "" : answers[answer];
}

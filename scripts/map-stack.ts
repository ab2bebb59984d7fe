/**
 * `npm run stack < agent.log`: prints what it reads, with each place in the agent's bundle replaced by the place in its source. The bundle
 * must be the one that wrote the log.
 */
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const root = path.dirname(import.meta.dirname);
const dist = path.join(root, "packages/agent/dist");
const map = new SourceMap(
  JSON.parse(readFileSync(path.join(dist, "bunting-agent.cjs.map"), "utf8")) as SourceMapPayload,
);

for await (const line of createInterface(process.stdin)) {
  console.log(
    line.replaceAll(
      /(?:file:\/\/)?[^\s()"]*bunting-agent\.cjs:(\d+):(\d+)/g,
      (place, lineNumber: string, column: string) => sourceOf(Number(lineNumber), Number(column)) ?? place,
    ),
  );
}

function sourceOf(line: number, column: number): string | undefined {
  const entry = map.findEntry(line - 1, column - 1);
  if (!("originalSource" in entry)) return undefined;
  const file = path.relative(root, path.resolve(dist, entry.originalSource));
  return `${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

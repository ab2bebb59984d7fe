/**
 * `npm run stack < agent.log`, `npm run stack -- proxy < proxy.log`: prints what it reads, with each place in the bundle or a chunk of it
 * replaced by the place in its source. The bundle must be the one that wrote the log.
 */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const root = path.dirname(import.meta.dirname);
const program = process.argv[2] ?? "agent";
const dist = path.join(root, `packages/${program}/dist`);
const maps = new Map<string, SourceMap | undefined>();

for await (const line of createInterface(process.stdin)) {
  console.log(
    line.replaceAll(
      /(?:file:\/\/)?[^\s()"]*?(bunting-\w+\.cjs|chunks\/[\w@/.-]+\.[cm]js):(\d+):(\d+)/g,
      (place, file: string, lineNumber: string, column: string) =>
        sourceOf(file, Number(lineNumber), Number(column)) ?? place,
    ),
  );
}

function sourceOf(file: string, line: number, column: number): string | undefined {
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry)) return undefined;
  const source = path.resolve(dist, path.dirname(file), entry.originalSource);
  return `${path.relative(root, source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const map = path.join(dist, `${file}.map`);
    const text = existsSync(map) ? readFileSync(map, "utf8") : undefined;
    maps.set(file, text === undefined ? undefined : new SourceMap(JSON.parse(text) as SourceMapPayload));
  }
  return maps.get(file);
}

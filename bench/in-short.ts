import type { CaseResult } from "./render.js";

/**
 * The page of ten lines that docs/benchmarks.md begins with: what this costs and how long a change takes, beside flagd-proxy and flagd. Its figures of
 * ours are cells of the tables below it; those of the others are constants, because their programs are not built here.
 */

/** A cell of a table of a kept result. The row begins with the name given, and the column is named so. */
interface Cell {
  readonly case: string;
  /** How the table's title begins. */
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

interface Line {
  readonly what: string;
  /** `$0` stands for the first cell's value, `$1` for the second's. */
  readonly ours: string;
  readonly cells: readonly Cell[];
  /** Measured on 2026-11-21 and 2026-11-26, on two cores of an Intel Xeon; flagd-proxy on one of them. */
  readonly theirs: string;
}

const ms = "ms: median (min–max)";
const sizes = { kb10: "10.0 KB", kb100: "100 KB", mb: "1.00 MB" };
const [shipped, published] = ["bunting-proxy, from rename", "bunting-proxy, from publish"];

function fanOut(table: string, row: string, column: string, name = "fan-out"): Cell {
  return { case: name, table: `${table} to everyone`, row, column };
}

function storm(column: string): Cell {
  return {
    case: "fan-out-storm",
    table: "Until each has its first document",
    row: "bunting-proxy, shipped binary",
    column,
  };
}

function answers(row: string): Cell {
  const column = "answers per second of processor time: median (min–max)";
  return { case: "serve", table: "Answers", row, column };
}

function memory(row: string): Cell {
  return {
    case: "agent-memory",
    table: "Memory of the agent's process",
    row,
    column: "MB: median (min–max)",
  };
}

const lines: readonly Line[] = [
  {
    what: "An edit of 10 KB is at the last of 10,000 subscribers (beside a plain server of node:http2 in the same run)",
    ours: "$0 ms ($1 ×)",
    cells: [fanOut(sizes.kb10, shipped, ms), fanOut(sizes.kb10, shipped, "to plain")],
    theirs: "257 ms (1.32 ×)",
  },
  {
    what: "The same with 100 KB",
    ours: "$0 ms ($1 ×)",
    cells: [fanOut(sizes.kb100, shipped, ms), fanOut(sizes.kb100, shipped, "to plain")],
    theirs: "2,283 ms, and it grows to 10.9 GB",
  },
  {
    what: "The same with 100 KB, for subscribers that accept gzip",
    ours: "$0 ms, $1 for each",
    cells: [
      fanOut(sizes.kb100, `${published}, gzip`, ms, "fan-out-gzip"),
      fanOut(sizes.kb100, `${published}, gzip`, "bytes per subscriber", "fan-out-gzip"),
    ],
    theirs: "does not compress",
  },
  {
    what: "One flag of a document of 1 MB, until 10,000 agents have acknowledged it",
    ours: "$0 ms, $1 for each",
    cells: [
      fanOut(sizes.mb, `${published}, bunting.sync.v1`, ms, "fan-out-delta"),
      fanOut(sizes.mb, `${published}, bunting.sync.v1`, "bytes per subscriber", "fan-out-delta"),
    ],
    theirs: "sends the whole document, and has no acknowledgements",
  },
  {
    what: "10,000 subscribers connect, and have their first document of 1 KB",
    ours: "$0 s",
    cells: [storm("s: median (min–max)")],
    theirs: "1.0 to 2.1 s",
  },
  {
    what: "Each 1,000 agents that are connected, in memory of the proxy",
    ours: "$0 MB",
    cells: [storm("idle KB per subscriber: median (min–max)")],
    theirs: "38 to 47 MB; 133 MB with a document of 100 KB",
  },
  {
    what: "Each 1,000 agents that get an edit of 10 KB, in processor time of the proxy",
    ours: "$0 ms",
    cells: [fanOut(sizes.kb10, shipped, "server CPU µs per subscriber")],
    theirs: "17 ms on a faster core, where plain node:http2 took 13",
  },
  {
    what: "200 FeatureFlags of a namespace, each subscribed to: watches at the API server",
    ours: "1; a test counts them",
    cells: [],
    theirs: "200 of the whole namespace; its memory grows by 3.4 GB",
  },
  {
    what: "The agent at rest with 1,000 flags: RSS, and of it private",
    ours: "$0 MB, $1 MB",
    cells: [memory("RSS idle"), memory("of it private")],
    theirs: "75 to 80 MB, 28 to 31 MB",
  },
  {
    what: "Answers of the agent for a second of processor time: gRPC, and OFREP",
    ours: "$0, $1",
    cells: [answers("gRPC"), answers("OFREP")],
    theirs: "7,500 to 10,500, and 14,300 to 23,100",
  },
];

/** Throws for a cell that no table has, so that a renamed row does not leave its old figure here. */
export function rowsInShort(resultOf: (name: string) => CaseResult): readonly (readonly string[])[] {
  const rows = lines.map(({ what, ours, cells, theirs }) => {
    const values = cells.map((cell) => valueOf(resultOf(cell.case), cell));
    return [what, ours.replace(/\$(\d)/g, (_, index: string) => values[Number(index)] ?? ""), theirs];
  });
  return [["", "Bunting", "flagd-proxy, flagd"], ["---", "---", "---"], ...rows];
}

function valueOf(result: CaseResult, { case: name, table, row, column }: Cell): string {
  const found = result.tables.find(({ title }) => title.startsWith(table));
  const at = found?.columns.indexOf(column) ?? -1;
  const value = found?.rows.find(([first]) => first === row)?.[at];
  if (value === undefined)
    throw new Error(`bench/in-short.ts: ${name} has no row "${row}" with "${column}" in "${table}"`);
  // Of "12.3 (11.0–14.0)" the median alone.
  return value.replace(/ \(.*\)$/, "");
}

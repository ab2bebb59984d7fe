import type { Offender } from "./figure.js";
import type { Verdict } from "./verdict.js";

/** One line for each figure: its value now, its bound and its target. With `isVerbose`, the offenders follow theirs. */
export function houseTable(results: readonly Verdict[], isVerbose: boolean): string {
  const rows = results.map(({ figure, bound, target, state }) => ({
    cells: [figure.name, figure.now, bound, target].map(String),
    remark: remarkOf(state, figure.now <= target),
    offenders: isVerbose || state === "worse" ? figure.offenders : [],
  }));
  const head = ["figure", "now", "bound", "target"];
  const widths = head.map((title, column) =>
    Math.max(...[title, ...rows.map(({ cells }) => cells[column] ?? "")].map(({ length }) => length)),
  );
  const line = (cells: readonly string[], remark: string): string =>
    `${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join("  ")}  ${remark}`.trimEnd();
  return [
    line(head, ""),
    ...rows.flatMap(({ cells, remark, offenders }) => [line(cells, remark), ...offenders.map(offenderLine)]),
  ].join("\n");
}

function remarkOf(state: Verdict["state"], isOnTarget: boolean): string {
  if (state === "worse") return "WORSE than its bound";
  if (state === "better") return "better: lower the bound with `npm run house -- --tighten`";
  return isOnTarget ? "on target" : "";
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function offenderLine({ file, line, text }: Offender): string {
  return `    ${file}:${line} ${text}`;
}

import type { Colours } from "../terminal/colours.js";
import { plural } from "../terminal/plural.js";
import type { OperatedBy } from "./operated-by.js";
import type { CheckReport, CheckResult, ReportedCheck } from "./check-report.js";

/** Most findings of one check that are shown; JSON has all of them. */
const mostShown = 20;

/** Words for the kind of installation, after the number of checks; none for one with our operator. */
const kinds: Readonly<Record<OperatedBy, string>> = {
  bunting: "",
  stock: " of an installation with the open-feature-operator",
  nobody: " of an installation without an operator",
};

/** A report for people: groups, with a line for each check, and what is wrong, where, and what to do below it. */
export function checkLines({ checks, operatedBy }: CheckReport, colours: Colours): readonly string[] {
  const groups = [...new Set(checks.map(({ group }) => group))];
  const lines = groups.flatMap((group) => [
    colours.bold(group),
    ...checks.filter((one) => one.group === group).flatMap((one) => linesOf(one, colours)),
    "",
  ]);
  return [...lines, `${plural(checks.length, "check")}${kinds[operatedBy ?? "bunting"]}: ${sumOf(checks)}`];
}

function linesOf({ title, result, findings }: ReportedCheck, colours: Colours): readonly string[] {
  const paint = {
    ok: colours.green,
    warning: colours.yellow,
    failed: colours.red,
    unknown: colours.yellow,
  }[result];
  const shown = findings.slice(0, mostShown);
  const more = findings.length - shown.length;
  return [
    `  ${paint(result.padEnd(7))}  ${title}`,
    ...shown.flatMap(({ where, what, todo, code, severity, docs }) => [
      `           ${severity === result ? "" : `${severity}: `}${where}: ${what} ${colours.dim(`[${code}]`)}`,
      `             To do: ${todo}. ${colours.dim(`See ${docs}`)}`,
    ]),
    ...(more > 0 ? [`           and ${plural(more, "more finding")}; --json has all`] : []),
  ];
}

function sumOf(checks: readonly ReportedCheck[]): string {
  const count = (wanted: CheckResult): number => checks.filter(({ result }) => result === wanted).length;
  const parts = [
    [count("failed"), "failed"],
    [count("unknown"), "could not be made"],
    [count("warning"), "with warnings"],
  ] as const;
  const unwell = parts.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`);
  return unwell.length === 0 ? "all is well" : unwell.join(", ");
}

import type { ConvergenceSection } from "../src/management/status/status-view.js";
import { byId, element, setText, show, svgElement } from "./dom.js";
import { clockTime, count, counted, span } from "./format.js";

/** In units of the drawing. */
const left = 52;
const right = 8;
const top = 10;
const plotHeight = 150;
const lateHeight = 34;
const gap = 26;
const axisHeight = 22;
/** The scale of times is logarithmic: from 1 ms at the bottom to 100 s. */
const decades = 5;
const ticks: readonly [number, string][] = [
  [1, "1 ms"],
  [10, "10 ms"],
  [100, "100 ms"],
  [1_000, "1 s"],
  [10_000, "10 s"],
  [100_000, "100 s"],
];

/** For every five seconds a line from when half to when all subscribers had the slowest version; below, how many were behind. */
export function showConvergence(section: ConvergenceSection): void {
  setText(byId("convergence-summary"), summary(section));
  show(byId("chart"), [section, width()], () => [drawing(section)]);
}

/** As wide as the screen has it, so that text keeps its size. */
function width(): number {
  return Math.max(260, Math.min(900, Math.round(byId("chart").clientWidth)));
}

function summary({ published, allMs, late }: ConvergenceSection): string {
  const versions = published.reduce((sum, each) => sum + each, 0);
  const worst = Math.max(...late);
  const behind =
    worst > 0 ? ` At most ${counted(worst, "subscriber was", "subscribers were")} behind at a time.` : "";
  if (versions === 0)
    return `No version was published: edit a FeatureFlag, and see here how long it takes to reach half, 99 % and all of its subscribers.${behind}`;
  const slowest = Math.max(...allMs);
  const reached =
    slowest < 0
      ? "none has reached all of its subscribers yet."
      : `the slowest reached all of its subscribers after ${span(slowest)}.`;
  return `${counted(versions, "version")} published; ${reached}${behind}`;
}

function drawing(section: ConvergenceSection): Element {
  const total = width();
  const steps = section.published.length;
  const stepWidth = (total - left - right) / steps;
  const x = (index: number): number => left + (index + 0.5) * stepWidth;
  const lateTop = top + plotHeight + gap;
  const height = lateTop + lateHeight + axisHeight;
  const worst = Math.max(...section.late);
  const parts = [
    svgElement(
      "title",
      {},
      "Time until subscribers had a new version, and how many were behind, over the last ten minutes",
    ),
    ...ticks.map(([ms, text]) =>
      svgElement(
        "g",
        {},
        svgElement("line", { class: "grid", x1: left, x2: total - right, y1: y(ms), y2: y(ms) }),
        svgElement("text", { x: left - 8, y: y(ms) + 4, "text-anchor": "end" }, text),
      ),
    ),
    ...section.published.map((_, index) => lineOf(section, index, x(index))),
    svgElement("line", {
      class: "grid",
      x1: left,
      x2: total - right,
      y1: lateTop + lateHeight,
      y2: lateTop + lateHeight,
    }),
    svgElement("text", { x: left - 8, y: lateTop + lateHeight, "text-anchor": "end" }, "behind"),
    ...(worst > 0
      ? [svgElement("text", { x: left - 8, y: lateTop + 10, "text-anchor": "end" }, count(worst))]
      : []),
    ...section.late.map((late, index) => {
      const tall = late === 0 ? 0 : Math.max(3, (late / worst) * lateHeight);
      return svgElement("rect", {
        class: "late",
        x: x(index) - stepWidth / 2,
        width: stepWidth + 0.5,
        y: lateTop + lateHeight - tall,
        height: tall,
      });
    }),
    ...[0, 0.5, 1].map((share) =>
      svgElement(
        "text",
        {
          x: left + share * (total - left - right),
          y: height - 5,
          "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle",
        },
        share === 1
          ? "now"
          : clockTime(section.lastStepMs - (1 - share) * steps * section.stepMs).slice(0, 5),
      ),
    ),
  ];
  return element(
    "div",
    {},
    svgElement(
      "svg",
      {
        viewBox: `0 0 ${total} ${height}`,
        width: total,
        height,
        role: "img",
        "aria-describedby": "convergence-summary",
      },
      ...parts,
    ),
    ...(section.halfMs.some((ms) => ms >= 0)
      ? [
          element(
            "p",
            { class: "hint" },
            "A line runs from when half of the subscribers had a version to when all had it (dot).",
          ),
        ]
      : []),
  );
}

function lineOf({ halfMs, mostMs, allMs }: ConvergenceSection, index: number, x: number): Element {
  const half = halfMs[index] ?? -1;
  const all = allMs[index] ?? -1;
  const most = mostMs[index] ?? -1;
  if (half < 0) return svgElement("g");
  const last = Math.max(half, most, all);
  return svgElement(
    "g",
    {},
    svgElement(
      "title",
      {},
      [
        `half after ${span(half)}`,
        most < 0 ? "" : `, 99 % after ${span(most)}`,
        all < 0 ? ", not all yet" : `, all after ${span(all)}`,
      ].join(""),
    ),
    svgElement("line", { class: "span", x1: x, x2: x, y1: y(half), y2: y(last) }),
    ...(all < 0 ? [] : [svgElement("circle", { class: "end", cx: x, cy: y(all), r: 3.5 })]),
  );
}

function y(ms: number): number {
  const share = Math.log10(Math.max(1, ms)) / decades;
  return top + plotHeight * (1 - Math.min(1, share));
}

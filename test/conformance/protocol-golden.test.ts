import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import type { Answer } from "./protocol/answer.js";
import { askWorld } from "./protocol/ask-world.js";
import { canonicalValue } from "./protocol/canonical-value.js";
import { differences, type Difference } from "./protocol/compare-answers.js";
import { deliberateDifferences } from "./protocol/deliberate-differences.js";
import { readGoldenCases, worldsOf, type GoldenCase, type World } from "./protocol/golden-case.js";
import { openDifferences } from "./protocol/open-differences.js";

interface Judgement {
  readonly one: GoldenCase;
  readonly got: Answer;
  /** What nobody meant. */
  readonly open: readonly Difference[];
  /** The names of the deliberate differences. */
  readonly deliberate: readonly string[];
}

/** Worlds asked at the same time; the one with keep-alives takes 20 s alone. */
const worldsAtOnce = 3;

/** More are not a matter of time. */
const maxWorldsAgain = 15;

const docs = path.join(import.meta.dirname, "../../docs");
const cases = readGoldenCases();
const classes = [...new Set(cases.map((one) => one.class))].sort();
const judgements = new Map<GoldenCase, Judgement>();

function judge(one: GoldenCase, answer: Answer): Judgement {
  const got = canonicalValue(answer) as unknown as Answer;
  const found = differences(wantedOf(one.answer), got).map((difference) => ({
    difference,
    rule: deliberateDifferences.find(({ covers }) => covers(one, difference, got)),
  }));
  return {
    one,
    got,
    open: found.flatMap(({ difference, rule }) => (rule === undefined ? [difference] : [])),
    deliberate: found.flatMap(({ rule }) => rule?.name ?? []),
  };
}

function wantedOf(answer: Answer): Answer {
  // Whoever recorded the stream stopped waiting for its end.
  const isOpen = answer.end === "timeout";
  return canonicalValue(isOpen ? { ...answer, end: "open" } : answer) as unknown as Answer;
}

async function judgeWorlds(worlds: readonly World[]): Promise<void> {
  const left = [...worlds];
  const worker = async (): Promise<void> => {
    for (let world = left.shift(); world !== undefined; world = left.shift()) {
      const answers = await askWorld(world);
      for (const one of world.cases) {
        const found = judge(one, answers.get(one) ?? { outcome: "not asked" });
        const before = judgements.get(one);
        if (before === undefined || found.open.length < before.open.length) judgements.set(one, found);
      }
    }
  };
  await Promise.all(Array.from({ length: worldsAtOnce }, worker));
}

function openOf(name: string): readonly Judgement[] {
  return [...judgements.values()].filter(({ one, open }) => one.class === name && open.length > 0);
}

function brief(value: unknown): string {
  return JSON.stringify(value ?? "absent").slice(0, 300);
}

function explain({ one, open }: Judgement): string {
  const { request, about, id, server } = one;
  const places = open
    .slice(0, 3)
    .map(({ path: at, want, got }) => `${at.join(".")}: ${brief(want)} → ${brief(got)}`);
  const asked = `${request.port} ${request.http} ${request.method ?? ""} ${request.path ?? ""} ${server.args.join(" ")}`;
  return [`${id}: ${about}`, `    ${asked}`, ...places.map((place) => `    ${place}`)].join("\n");
}

/** What the real flagd answered to 3,020 requests over all its protocols; docs/protocol-differences.md says where ours differ. */
describe("the recorded answers of flagd", () => {
  before(async function () {
    this.timeout(600_000);
    const worlds = worldsOf(cases).toSorted((a, b) => weightOf(b) - weightOf(a));
    await judgeWorlds(worlds);
    // Streams and edits are a matter of time as well: on a busy machine, what differs there may agree when it is asked again.
    const exceeding = classes.filter((name) => openOf(name).length > (openDifferences[name] ?? 0));
    const again = worlds.filter((world) =>
      world.cases.some((one) => exceeding.includes(one.class) && (judgements.get(one)?.open.length ?? 0) > 0),
    );
    if (again.length <= maxWorldsAgain) await judgeWorlds(again);
  });

  for (const name of classes) {
    const expected = openDifferences[name] ?? 0;
    it(`${name}: ${expected === 0 ? "all are ours, or differ on purpose" : `${expected} differ, and no more`}`, () => {
      const open = openOf(name);
      const message = `lower it in open-differences.ts if fewer differ:\n${open.slice(0, 12).map(explain).join("\n")}`;
      expect(open.length, message).to.equal(expected);
    });
  }

  for (const {
    name,
    docs: [page, words],
  } of deliberateDifferences) {
    it(`${name}: a difference on purpose, which is in the docs and still there`, () => {
      expect(readFileSync(path.join(docs, page), "utf8")).to.include(words);
      expect([...judgements.values()].some(({ deliberate }) => deliberate.includes(name))).to.equal(true);
    });
  }
});

/** What takes longest comes first. */
function weightOf({ cases: inWorld, edits }: World): number {
  return Math.max(...inWorld.map(({ request }) => request.stream?.ms ?? 0)) + 1_000 * edits.length;
}

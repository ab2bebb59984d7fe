import type { Answer } from "./answer.js";
import { askWorld } from "./ask-world.js";
import { canonicalValue } from "./canonical-value.js";
import { differences, type Difference } from "./compare-answers.js";
import { deliberateDifferences } from "./deliberate-differences.js";
import { worldsOf, type GoldenCase, type World } from "./golden-case.js";
import type { TransportName } from "./transport.js";

export interface Judgement {
  readonly one: GoldenCase;
  /** Differences that no rule explains. */
  readonly open: readonly Difference[];
  /** The names of the deliberate differences. */
  readonly deliberate: readonly string[];
}

/** Worlds asked at the same time; the one with keep-alives takes 20 s alone. */
const worldsAtOnce = 3;

/** If more differ, time is not the reason. */
const maxWorldsAgain = 15;

/** Asks agents the cases over one transport, and judges the answers. */
export class CorpusRun {
  readonly #transport: TransportName;
  readonly #worlds: readonly World[];
  readonly #judgements = new Map<GoldenCase, Judgement>();

  constructor(cases: readonly GoldenCase[], transport: TransportName) {
    this.#transport = transport;
    this.#worlds = worldsOf(cases).toSorted((a, b) => weightOf(b) - weightOf(a));
  }

  /** @param allowed how many cases of each class may differ. */
  async run(allowed: Readonly<Record<string, number>>): Promise<void> {
    await this.#judgeWorlds(this.#worlds);
    // Streams and edits are a matter of time as well: on a busy machine, what differs there may agree when it is asked again.
    const isOpen = (one: GoldenCase): boolean => (this.#judgements.get(one)?.open.length ?? 0) > 0;
    const again = this.#worlds.filter(({ cases }) =>
      cases.some((one) => isOpen(one) && this.openOf(one.class).length > (allowed[one.class] ?? 0)),
    );
    if (again.length <= maxWorldsAgain) await this.#judgeWorlds(again);
  }

  /** The cases of a class that differ, and no rule says that they may. */
  openOf(className: string): readonly Judgement[] {
    return [...this.#judgements.values()].filter(
      ({ one, open }) => one.class === className && open.length > 0,
    );
  }

  /** Whether some case differs as this deliberate difference says. */
  has(deliberateDifference: string): boolean {
    return [...this.#judgements.values()].some(({ deliberate }) => deliberate.includes(deliberateDifference));
  }

  async #judgeWorlds(worlds: readonly World[]): Promise<void> {
    const left = [...worlds];
    const worker = async (): Promise<void> => {
      for (let world = left.shift(); world !== undefined; world = left.shift()) {
        const { answers, problem = "not asked" } = await answersOf(world, this.#transport);
        for (const one of world.cases) {
          const found = judge(one, answers.get(one) ?? { outcome: problem });
          const before = this.#judgements.get(one);
          if (before === undefined || found.open.length < before.open.length)
            this.#judgements.set(one, found);
        }
      }
    };
    await Promise.all(Array.from({ length: worldsAtOnce }, worker));
  }
}

/** An agent that does not start, on a busy machine, is asked again with what differs. */
async function answersOf(
  world: World,
  transport: TransportName,
): Promise<{ readonly answers: ReadonlyMap<GoldenCase, Answer>; readonly problem?: string }> {
  try {
    return { answers: await askWorld(world, transport) };
  } catch (error) {
    return { answers: new Map(), problem: String(error) };
  }
}

function judge(one: GoldenCase, answer: Answer): Judgement {
  const got = canonicalValue(answer) as unknown as Answer;
  const found = differences(wantedOf(one.answer), got).map((difference) => ({
    difference,
    rule: deliberateDifferences.find(({ covers }) => covers(one, difference, got)),
  }));
  return {
    one,
    open: found.flatMap(({ difference, rule }) => (rule === undefined ? [difference] : [])),
    deliberate: found.flatMap(({ rule }) => rule?.name ?? []),
  };
}

function wantedOf(answer: Answer): Answer {
  // The recorder stopped waiting for the stream to end.
  const isOpen = answer.end === "timeout";
  return canonicalValue(isOpen ? { ...answer, end: "open" } : answer) as unknown as Answer;
}

/** What takes longest comes first. */
function weightOf({ cases, edits }: World): number {
  return Math.max(...cases.map(({ request }) => request.stream?.ms ?? 0)) + 1_000 * edits.length;
}

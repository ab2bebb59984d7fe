import { expect } from "chai";
import { nextPush, type PushInputs, type PushVerdict } from "./push-plan.js";
import { pushSentence } from "./push-sentence.js";
import { digest, evidence, inputs, record, told, wholeDigest } from "./push.fixture.js";

const settings = inputs().settings;
const observed = { digest, wave: 1, reach: 100, peak: 2, settledMs: 1_000_000 - 60_000 };

function shown({ record: { phase, wave, reach }, takesWhole, why }: PushVerdict): string {
  return `${phase} ${wave} ${reach} ${why}${takesWhole ? " takes" : ""}`;
}

describe("the next step of a rollout", () => {
  const cases: readonly (readonly [string, Partial<PushInputs>, string])[] = [
    [
      "takes the first version that it sees as the whole one",
      { wholeDigest: undefined, before: undefined },
      "Whole 3 0 first takes",
    ],
    ["is none while the newest version is the whole one", { digest: wholeDigest }, "Whole 3 0 whole"],
    [
      "has nobody try a version before each proxy knows it",
      { before: undefined, evidence: evidence(told({ reach: 0, wave: 0 }), { subscribers: 1 }) },
      "Progressing 0 0 unknown",
    ],
    [
      "begins the first wave, of the percentage",
      { before: undefined, evidence: evidence(told({ reach: 0, wave: 0 })) },
      "Progressing 1 100 over",
    ],
    [
      "begins the first wave with one agent where there are few",
      { before: undefined, evidence: evidence(told({ reach: 0, wave: 0, lowest: 4_711 })) },
      "Progressing 1 4712 over",
    ],
    [
      "begins anew with another version",
      { before: record({ digest: "other", wave: 2, reach: 1_000 }), evidence: evidence(told({ reach: 0 })) },
      "Progressing 1 100 over",
    ],
    [
      "waits until each proxy goes by the wave",
      { evidence: evidence(told(), told({ reach: 0 })) },
      "Progressing 1 100 unknown",
    ],
    [
      "does not wait for a proxy without subscribers",
      { evidence: evidence(told(), { subscribers: 0 }) },
      "Progressing 1 100 observed",
    ],
    [
      "waits until the agents of the wave have it",
      { evidence: evidence(told({ current: 1 })), watch: observed },
      "Progressing 1 100 behind",
    ],
    [
      "waits for agents of the wave that have gone",
      { evidence: evidence(told({ wave: 1, current: 1 })), watch: { ...observed, peak: 3 } },
      "Progressing 1 100 away",
    ],
    [
      "waits for agents of the wave that have gone before this leader came",
      { before: record({ tried: 3 }), evidence: evidence(told({ wave: 1, current: 1 })) },
      "Progressing 1 100 away",
    ],
    [
      "observes a wave of which half is left since before this leader came",
      { before: record({ tried: 4 }) },
      "Progressing 1 100 observed",
    ],
    [
      "waits for an agent of the wave where none is left",
      { evidence: evidence(told({ wave: 0, current: 0 })), watch: undefined },
      "Progressing 1 100 away",
    ],
    ["observes the wave", { watch: { ...observed, settledMs: 940_001 } }, "Progressing 1 100 observed"],
    [
      "observes another wave from its beginning",
      { watch: { ...observed, wave: 0 } },
      "Progressing 1 100 observed",
    ],
    ["begins the next wave after the time of observation", { watch: observed }, "Progressing 2 1000 over"],
    [
      "begins no wave that has less than the one before",
      {
        before: record({ reach: 4_712 }),
        evidence: evidence(told({ reach: 4_712 })),
        watch: { ...observed, reach: 4_712 },
      },
      "Progressing 2 4712 over",
    ],
    [
      "leaves out no wave that has more, where the percentages were edited meanwhile",
      {
        settings: { ...settings, waves: [25, 50, 75] },
        before: record({ wave: 2, reach: 1_000 }),
        evidence: evidence(told({ reach: 1_000 })),
        watch: { ...observed, wave: 2, reach: 1_000 },
      },
      "Progressing 1 2500 over",
    ],
    [
      "is not for all where the waves after this one were edited to be the first",
      { settings: { ...settings, waves: [50] }, watch: observed },
      "Progressing 1 5000 over",
    ],
    [
      "is for all after the last wave",
      {
        before: record({ wave: 2, reach: 1_000 }),
        evidence: evidence(told({ reach: 1_000 })),
        watch: { ...observed, wave: 2, reach: 1_000 },
      },
      "Whole 3 0 over takes",
    ],
    [
      "halts when agents refuse it, at once",
      { evidence: evidence(told(), told({ refusals: 1, reach: 0 })), watch: observed },
      "Halted 1 100 refused",
    ],
    [
      "goes on with refusals that are allowed, by agents that do not have it",
      {
        settings: { ...settings, maxRefusing: 1 },
        evidence: evidence(told({ refusals: 1, current: 1 })),
        watch: observed,
      },
      "Progressing 2 1000 over",
    ],
    [
      "stays halted when nobody refuses it any more",
      { before: record({ phase: "Halted" }) },
      "Halted 1 100 halted",
    ],
    [
      "stays halted with the order that had resumed it before",
      { before: record({ phase: "Halted", resumed: "a" }), resumed: "a" },
      "Halted 1 100 halted",
    ],
    [
      "takes what a proxy says of another version for nothing",
      { evidence: evidence(told(), told({ digest: "other", refusals: 9 })) },
      "Progressing 1 100 unknown",
    ],
    [
      "goes on after it was resumed, and forgives",
      {
        before: record({ phase: "Halted", resumed: "a" }),
        resumed: "b",
        evidence: evidence(told({ refusals: 2 })),
      },
      "Progressing 1 100 unknown",
    ],
    [
      "goes on with the refusals that were forgiven",
      {
        before: record({ forgiven: 2 }),
        evidence: evidence(told({ refusals: 2, current: 2 })),
        watch: observed,
      },
      "Progressing 2 1000 over",
    ],
    [
      "halts again at one refusal more than was forgiven",
      { before: record({ forgiven: 2 }), evidence: evidence(told({ refusals: 3 })) },
      "Halted 1 100 refused",
    ],
    [
      "goes on without agents that have gone, once it is resumed: with the next one",
      { resumed: "b", evidence: evidence(told({ wave: 0, current: 0, lowest: 300 })), watch: observed },
      "Progressing 1 301 unknown",
    ],
    ["pauses", { settings: { ...settings, isPaused: true }, watch: observed }, "Paused 1 100 paused"],
    [
      "stays paused while a proxy does not say what its agents do",
      { before: record({ phase: "Paused" }), evidence: undefined },
      "Paused 1 100 silent",
    ],
    [
      "halts while it is paused",
      {
        settings: { ...settings, isPaused: true },
        before: record({ phase: "Paused" }),
        evidence: evidence(told({ refusals: 1 })),
      },
      "Halted 1 100 refused",
    ],
    ["goes on after a pause", { before: record({ phase: "Paused" }) }, "Progressing 1 100 unknown"],
    ["is given up", { isAborted: true }, "Aborted 0 0 aborted"],
    [
      "is given up while a proxy is silent",
      { isAborted: true, before: record({ phase: "Halted" }), evidence: undefined },
      "Aborted 0 0 aborted",
    ],
    [
      "begins anew once it is not given up any more",
      { before: record({ phase: "Aborted", wave: 0, reach: 0 }) },
      "Progressing 0 0 unknown",
    ],
    [
      "does nothing while a proxy is silent",
      { evidence: undefined, watch: observed },
      "Progressing 1 100 silent",
    ],
    [
      "waits before it believes that only those ask who can't try it",
      { before: undefined, evidence: evidence(told({ agents: 0, wave: 0, current: 0, reach: 0 })) },
      "Progressing 0 0 observed",
    ],
    [
      "is for all where only those have asked for the time of observation who can't try it",
      {
        before: undefined,
        evidence: evidence(told({ agents: 0, wave: 0, current: 0, reach: 0 })),
        watch: { ...observed, wave: 0, reach: 0, peak: 0 },
      },
      "Whole 3 0 nobody takes",
    ],
    [
      "waits in a wave for agents where none is left at all",
      { evidence: evidence(told({ agents: 0, wave: 0, current: 0 })), watch: undefined },
      "Progressing 1 100 away",
    ],
    [
      "is for all without agents that are not missed any more",
      {
        before: record({ agents: 0 }),
        evidence: evidence(told({ agents: 0, wave: 0, current: 0 })),
        watch: observed,
      },
      "Whole 3 0 nobody takes",
    ],
    [
      "waits for agents where there were some",
      { before: record({ phase: "Whole", digest: wholeDigest }), evidence: evidence() },
      "Progressing 0 0 away",
    ],
    [
      "waits before it believes that nobody asks",
      { before: undefined, evidence: evidence() },
      "Progressing 0 0 observed",
    ],
    [
      "is for all where nobody has asked for the time of observation",
      { before: undefined, evidence: evidence(), watch: { ...observed, wave: 0, reach: 0, peak: 0 } },
      "Whole 3 0 nobody takes",
    ],
  ];
  for (const [what, change, expected] of cases) {
    it(what, () => {
      expect(shown(nextPush(inputs(change)))).to.equal(expected);
    });
  }

  it("observes a wave from its beginning that has the number of the one before", () => {
    const edited = { settings: { ...settings, waves: [50] } };
    const next = nextPush(inputs({ ...edited, watch: observed }));
    const then = {
      ...edited,
      before: next.record,
      watch: next.watch,
      evidence: evidence(told({ reach: 5_000 })),
    };
    expect(nextPush(inputs(then)).why).to.equal("observed");
  });

  it("remembers how many agents could try it, and what has resumed it", () => {
    const { record: next } = nextPush(inputs({ evidence: evidence(told({ agents: 30 })) }));
    expect(next.agents).to.equal(30);
    const halted = nextPush(
      inputs({
        resumed: "now",
        before: record({ resumed: "now" }),
        evidence: evidence(told({ refusals: 1 })),
      }),
    );
    expect(halted.record).to.include({ phase: "Halted", resumed: "now" });
    const resumed = nextPush(
      inputs({
        ...halted,
        before: halted.record,
        resumed: "later",
        evidence: evidence(told({ refusals: 4 })),
      }),
    );
    expect(resumed.record).to.include({ phase: "Progressing", forgiven: 4, resumed: "later" });
  });

  it("remembers how many agents of the wave there were, until the next one, or until it is resumed", () => {
    const tried = (change: Partial<PushInputs>): number => nextPush(inputs(change)).record.tried;
    expect(tried({})).to.equal(2);
    expect(tried({ before: record({ tried: 9 }) })).to.equal(9);
    expect(tried({ before: record({ tried: 9, wave: 0 }), evidence: undefined })).to.equal(0);
    expect(tried({ before: record({ tried: 2 }), watch: observed })).to.equal(0);
    expect(tried({ before: record({ tried: 9 }), resumed: "now" })).to.equal(0);
    expect(tried({ before: record({ tried: 9 }), isAborted: true })).to.equal(0);
    expect(tried({ before: record({ tried: 9, digest: "other" }), evidence: evidence() })).to.equal(0);
  });

  for (const [what, change] of [
    ["a proxy was silent", { evidence: undefined }],
    ["it was paused", { settings: { ...settings, isPaused: true } }],
  ] as const)
    it(`misses agents that have gone while ${what}, and observes anew`, () => {
      const watch = { ...observed, peak: 9 };
      const meanwhile = nextPush(inputs({ ...change, watch }));
      const more = { before: { ...meanwhile.record, tried: 0 }, watch: meanwhile.watch };
      const unpaused = nextPush(inputs(more));
      const then = { before: unpaused.record, watch: unpaused.watch };
      expect(nextPush(inputs(then)).why).to.equal("away");
      const back = evidence(told({ wave: 9, current: 9 }));
      expect(nextPush(inputs({ ...then, evidence: back })).why).to.equal("observed");
    });

  for (const wave of [0, 1])
    it(`goes on without agents that have all gone, once it is resumed in wave ${wave}`, () => {
      const reach = wave * 100;
      const gone = evidence(told({ reach, agents: 0, wave: 0, current: 0 }));
      const before = record({ wave, reach });
      expect(nextPush(inputs({ before, evidence: gone })).why).to.equal("away");
      const resumed = nextPush(inputs({ before, evidence: gone, resumed: "now" }));
      const observes = nextPush(
        inputs({ before: resumed.record, evidence: gone, resumed: "now", watch: resumed.watch }),
      );
      expect(shown(observes)).to.equal(`Progressing ${wave} ${reach} observed`);
      const next = { before: observes.record, watch: observes.watch, nowMs: 1_060_000 };
      expect(shown(nextPush(inputs({ ...next, evidence: gone, resumed: "now" })))).to.contain("nobody takes");
    });

  it("keeps no number that a status has no room for, whatever proxies tell", () => {
    const most = 2 ** 31 - 1;
    const liar = told({ agents: most, wave: most, current: most, refusals: most });
    const { record: next } = nextPush(inputs({ evidence: evidence(liar, liar), resumed: "now" }));
    expect(next).to.include({ agents: most, forgiven: most });
  });

  it("says what it waits for", () => {
    const sentence = (proxies: PushInputs["evidence"]): string => {
      const verdict = nextPush(inputs({ evidence: proxies }));
      return pushSentence(verdict, proxies, 3);
    };
    expect(sentence(evidence(told({ current: 1 })))).to.contain(
      "not all of its agents say that they have it",
    );
    expect(sentence(evidence(told({ wave: 0, current: 0 })))).to.contain("bunting rollout resume");
    expect(sentence(undefined)).to.contain("a proxy does not say");
    expect(sentence(evidence(told()))).to.equal("The version new is in wave 1 of 3, whose agents try it.");
  });

  it("looks again soon while it goes on, and not at all while somebody has to do something", () => {
    const again = (change: Partial<PushInputs>): number | undefined => nextPush(inputs(change)).againMs;
    expect(again({})).to.equal(5_000);
    expect(again({ watch: { ...observed, settledMs: 941_500 } })).to.equal(1_500);
    expect(again({ settings: { ...settings, isPaused: true } })).to.equal(5_000);
    for (const change of [
      { isAborted: true },
      { digest: wholeDigest },
      { before: record({ phase: "Halted" }) },
    ] as const)
      expect(again(change), JSON.stringify(change)).to.equal(undefined);
  });

  it("looks again after somebody has resumed it while a proxy was silent, since nothing else tells that it speaks", () => {
    const halted = inputs({ before: record({ phase: "Halted" }), resumed: "now" });
    const waiting = nextPush({ ...halted, evidence: undefined });
    expect([shown(waiting), waiting.againMs]).to.deep.equal(["Halted 1 100 silent", 5_000]);
    expect(shown(nextPush(halted))).to.equal("Progressing 1 100 unknown");
  });
});

import { expect } from "chai";
import {
  bytesOrder,
  endsInstead,
  nextReplaced,
  quietOrder,
  type Evictable,
  type Evictables,
  type Replaceable,
} from "./eviction-order.js";
import type { Activity, AddressShare } from "./peer-account.js";

const kibibyte = 1024;
const baseBytes = 24 * kibibyte;

interface Named extends Evictable {
  readonly name: string;
}

/** A connection: its name, address, KiB and activity. They are listed as they were opened, and became what they are. */
type Row = readonly [name: string, address: string, kibibytes: number, activity: Activity];

function held(replaceable: Replaceable, budgetKib: number, rows: readonly Row[]): Evictables<Named> {
  const shares = new Map<string, AddressShare>();
  const all = new Set<Named>();
  const byActivity = {
    idle: replaceable === "none" ? undefined : new Set<Named>(),
    streaming: replaceable === "none" ? undefined : new Set<Named>(),
    busy: replaceable === "any" ? new Set<Named>() : undefined,
  };
  rows.forEach(([name, address, kibibytes, activity], index) => {
    const share = shares.get(address) ?? { address, bytes: 0, accounts: 0, replaceable: 0 };
    shares.set(address, share);
    const bytes = kibibytes * kibibyte;
    const one = { name, bytes, baseBytes, number: index + 1, share };
    share.bytes += bytes;
    share.accounts++;
    if (byActivity[activity] !== undefined) share.replaceable++;
    all.add(one);
    byActivity[activity]?.add(one);
  });
  const budgetBytes = budgetKib * kibibyte;
  return { budgetBytes, replaceable, all, byActivity, shares, newest: () => rows.length };
}

const names = (order: readonly Named[]): string[] => order.map(({ name }) => name);

/** 16 connections of an address: the newest of them is protected. */
const sixteen = (address: string, activity: Activity): Row[] =>
  Array.from({ length: 16 }, (_, index) => [`${address} ${index}`, address, 24, activity]);

describe("the connection that gives way to a new one", () => {
  const cases: readonly (readonly [
    what: string,
    replaceable: Replaceable,
    ownKib: number,
    rows: readonly Row[],
    expected: string | undefined,
  ])[] = [
    ["none where none may be replaced", "none", 0, [["a", "x", 24, "idle"]], undefined],
    ["none without any", "idle", 0, [], undefined],
    [
      "the first idle one of the address with the most bytes",
      "idle",
      0,
      [
        ["small", "x", 24, "idle"],
        ["first", "y", 24, "idle"],
        ["second", "y", 30, "idle"],
      ],
      "first",
    ],
    [
      "an idle one before one that is streaming for longer",
      "idle",
      0,
      [
        ["stream", "x", 60, "streaming"],
        ["idle", "x", 24, "idle"],
      ],
      "idle",
    ],
    [
      "no busy one, though its address holds the most",
      "idle",
      0,
      [
        ["busy", "x", 40, "busy"],
        ["idle", "y", 24, "idle"],
      ],
      "idle",
    ],
    [
      "none of an address that holds less than that of the new one",
      "idle",
      100,
      [
        ["busy", "x", 40, "busy"],
        ["idle", "y", 24, "idle"],
      ],
      undefined,
    ],
    [
      "a busy one only where any may be replaced, and then the one that is busy for longest",
      "any",
      0,
      [
        ["first", "x", 24, "busy"],
        ["second", "x", 90, "busy"],
      ],
      "first",
    ],
    [
      "a quiet one before the busy ones, where any may be replaced",
      "any",
      0,
      [
        ["busy", "x", 90, "busy"],
        ["stream", "x", 24, "streaming"],
      ],
      "stream",
    ],
    ["the first of sixteen, of which the newest is protected", "idle", 0, sixteen("x", "idle"), "x 0"],
    [
      "the newest of an address that holds over half of the budget, busy as it is",
      "idle",
      50,
      [
        ["old", "x", 300, "busy"],
        ["new", "x", 300, "busy"],
        ["other", "y", 24, "busy"],
      ],
      "new",
    ],
    [
      "a quiet one of such an address before a newer one that is busy",
      "idle",
      50,
      [
        ["quiet", "x", 300, "streaming"],
        ["new", "x", 300, "busy"],
      ],
      "quiet",
    ],
    [
      "none of such an address for one that holds half as much",
      "idle",
      300,
      [
        ["old", "x", 300, "busy"],
        ["new", "x", 300, "busy"],
      ],
      undefined,
    ],
  ];
  for (const [what, replaceable, ownKib, rows, expected] of cases)
    it(`is ${what}`, () => {
      expect(nextReplaced(held(replaceable, 1_000, rows), ownKib * kibibyte)?.name).to.equal(expected);
    });

  it("is a protected one last of all", () => {
    const rows = sixteen("x", "busy");
    rows[15] = ["protected", "x", 24, "idle"];
    expect(nextReplaced(held("idle", 10_000, rows), 0)?.name).to.equal("protected");
    rows[3] = ["quiet", "x", 24, "streaming"];
    expect(nextReplaced(held("idle", 10_000, rows), 0)?.name).to.equal("quiet");
  });
});

describe("the order of quiet connections", () => {
  it("is by what their address holds, then idle before streaming, then by age; busy and protected ones are none", () => {
    const rows: Row[] = [
      ["little", "x", 24, "idle"],
      ["stream", "y", 24, "streaming"],
      ["idle", "y", 24, "idle"],
      ["later idle", "y", 24, "idle"],
      ["busy", "y", 90, "busy"],
    ];
    expect(names(quietOrder(held("idle", 1_000, rows)))).to.deep.equal([
      "idle",
      "later idle",
      "stream",
      "little",
    ]);
    expect(quietOrder(held("none", 1_000, rows))).to.deep.equal([]);
    expect(quietOrder(held("idle", 1_000, sixteen("x", "idle")))).to.have.length(15);
  });
});

describe("the order by bytes", () => {
  const rows: Row[] = [
    ["at rest", "x", 36, "idle"],
    ["ordinary", "x", 40, "busy"],
    ["greedy", "y", 200, "streaming"],
    ["greedier", "y", 300, "busy"],
    ["newer ordinary", "x", 60, "idle"],
  ];
  const cases: readonly (readonly [Replaceable, readonly string[]])[] = [
    ["none", ["greedier", "greedy", "newer ordinary", "ordinary"]],
    ["idle", ["greedier", "greedy", "newer ordinary", "ordinary"]],
    ["any", ["newer ordinary", "greedy", "ordinary", "greedier"]],
  ];
  for (const [replaceable, expected] of cases)
    it(`leaves out one with at most a stream, where ${replaceable} may be replaced`, () => {
      expect(names(bytesOrder(held(replaceable, 1_000, rows)))).to.deep.equal(expected);
    });

  it("ends the newest of an address that holds most of the budget instead of another address's, and of its own otherwise", () => {
    const crowded: Row[] = [
      ["honest", "x", 100, "busy"],
      ["old", "y", 300, "busy"],
      ["new", "y", 300, "busy"],
    ];
    expect(endsInstead(held("idle", 1_000, crowded), 100 * kibibyte)?.name).to.equal("new");
    expect(endsInstead(held("idle", 1_000, crowded), 600 * kibibyte)).to.equal(undefined);
    expect(endsInstead(held("any", 1_000, crowded), 100 * kibibyte)).to.equal(undefined);
    expect(endsInstead(held("idle", 1_300, crowded), 100 * kibibyte)).to.equal(undefined);
  });
});

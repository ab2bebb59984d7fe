import fc from "fast-check";

/** What happens to the proxies and the FeatureFlags of a TiersModel. */
export type Command =
  | { readonly kind: "edit" | "delete"; readonly topic: number }
  | { readonly kind: "kill" | "revive"; readonly middle: number }
  | { readonly kind: "cut" | "stall" | "flow"; readonly link: number }
  /** Leaves go over to a middle that has not got an edit which they have. */
  | { readonly kind: "overtake"; readonly middle: number; readonly topic: number }
  | { readonly kind: "turn"; readonly ms: number };

const half = fc.nat(1);

function one(kind: "edit" | "delete"): fc.Arbitrary<Command> {
  return half.map((topic) => ({ kind, topic }));
}

function process(kind: "kill" | "revive"): fc.Arbitrary<Command> {
  return half.map((middle) => ({ kind, middle }));
}

function link(kind: "cut" | "stall" | "flow"): fc.Arbitrary<Command> {
  return fc.nat(3).map((each) => ({ kind, link: each }));
}

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: one("edit") },
  { weight: 2, arbitrary: one("delete") },
  { weight: 1, arbitrary: process("kill") },
  { weight: 2, arbitrary: process("revive") },
  { weight: 2, arbitrary: link("cut") },
  { weight: 1, arbitrary: link("stall") },
  { weight: 2, arbitrary: link("flow") },
  {
    weight: 2,
    arbitrary: fc.tuple(half, half).map(([middle, topic]): Command => ({ kind: "overtake", middle, topic })),
  },
  { weight: 6, arbitrary: fc.nat(60).map((ms): Command => ({ kind: "turn", ms })) },
);

export const commands = fc.array(command, { minLength: 5, maxLength: 40 });

import fc from "fast-check";

export type SubscriberKind = "16 KB" | "64 KB" | "1 MB" | "scripted agent" | "real agent";

export type Command =
  | { readonly kind: "subscribe"; readonly as: SubscriberKind; readonly proxy: number }
  | {
      readonly kind: "edit";
      readonly topic: number;
      readonly flag: number;
      readonly value: number;
      readonly isLarge: boolean | undefined;
    }
  | { readonly kind: "delete"; readonly topic: number }
  | { readonly kind: "lag" | "catch up" | "kill" | "revive"; readonly proxy: number }
  | { readonly kind: "move"; readonly which: number; readonly proxy: number }
  | {
      readonly kind: "leave" | "stall" | "resume" | "hush" | "ack" | "refuse" | "defer";
      readonly which: number;
    }
  | { readonly kind: "answer late"; readonly which: number; readonly answer: number }
  | { readonly kind: "read" }
  | { readonly kind: "turn"; readonly ms: number }
  | { readonly kind: "advance"; readonly ms: number };

/** The first commands, so that the random ones begin with proxies at work. */
const opening: Command[] = [
  { kind: "edit", topic: 0, flag: 0, value: 1, isLarge: false },
  { kind: "edit", topic: 1, flag: 0, value: 1, isLarge: true },
  { kind: "subscribe", as: "scripted agent", proxy: 0 },
  { kind: "subscribe", as: "scripted agent", proxy: 1 },
  { kind: "subscribe", as: "real agent", proxy: 0 },
  { kind: "subscribe", as: "16 KB", proxy: 1 },
  { kind: "turn", ms: 4 },
];

/** Random commands. Topics, proxies and subscribers are named by a number, modulo how many there are. */
export function commands(times: readonly number[]): fc.Arbitrary<Command[]> {
  const proxy = fc.nat(1);
  const topic = fc.nat(1);
  const which = fc.nat(7);
  const one: fc.Arbitrary<Command> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("subscribe" as const),
        as: fc.constantFrom<SubscriberKind>(
          "16 KB",
          "64 KB",
          "1 MB",
          "scripted agent",
          "scripted agent",
          "real agent",
        ),
        proxy,
      }),
    },
    {
      weight: 10,
      arbitrary: fc.record({
        kind: fc.constant("edit" as const),
        topic,
        flag: fc.nat(9),
        // So few values that edits are reverted.
        value: fc.nat(2),
        // Undefined: as large as before.
        isLarge: fc.option(fc.boolean(), { nil: undefined, freq: 3 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), topic }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constantFrom("lag" as const, "lag" as const, "catch up" as const),
        proxy,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("kill" as const, "revive" as const), proxy }) },
    { weight: 10, arbitrary: fc.record({ kind: fc.constant("move" as const), which, proxy }) },
    {
      weight: 10,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          "leave" as const,
          "stall" as const,
          "stall" as const,
          "resume" as const,
          "hush" as const,
          "hush" as const,
          "ack" as const,
          "refuse" as const,
          "refuse" as const,
          "defer" as const,
          "defer" as const,
        ),
        which,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("answer late" as const), which, answer: fc.nat(7) }),
    },
    {
      weight: 16,
      // The short one is less than a message and its answer take.
      arbitrary: fc.record({ kind: fc.constant("turn" as const), ms: fc.constantFrom(1, 4, 4) }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: "read" as const }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(...times) }),
    },
  );
  return fc
    .tuple(
      fc.subarray(opening, { minLength: 3 }),
      fc.array(one, { minLength: 10, maxLength: 60, size: "max" }),
    )
    .map((parts) => parts.flat());
}

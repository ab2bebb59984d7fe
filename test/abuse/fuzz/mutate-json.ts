import type { Random } from "../../../bench/fixtures/random.js";

/** JSON text that `JSON.stringify` would never write, as a value within a tree. */
class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Tree = string | number | boolean | null | RawJson | readonly Tree[] | { readonly [key: string]: Tree };

const depths = [100, 199, 200, 201, 1_500, 6_000];
const keys = [
  "__proto__",
  "constructor",
  "toString",
  "",
  "flags",
  "$evaluators",
  "$ref",
  "\u0000",
  "é\u{1f600}",
  "k".repeat(300),
];
const operators = [
  "if",
  "!",
  "and",
  "in",
  "fractional",
  "sem_ver",
  "starts_with",
  "var",
  "cat",
  "==",
  "merge",
  "%",
  "missing_some",
  "reduce",
];

/** The text of a value that differs from the one given in few places: in its tree, and at times in its text. */
export function mutateJson(random: Random, value: unknown): string {
  let tree = value as Tree;
  for (let left = random.pick([1, 1, 2, 5]); left > 0; left--) tree = mutateTree(random, tree);
  return stringify(tree);
}

function mutateTree(random: Random, tree: Tree): Tree {
  if (tree instanceof RawJson || tree === null || typeof tree !== "object") return strange(random, tree);
  if (random.chance(0.2)) return strange(random, tree);
  if (isList(tree)) {
    if (tree.length === 0) return [strange(random, null)];
    const at = random.below(tree.length);
    const changed = tree.map((item, index) => (index === at ? mutateTree(random, item) : item));
    return random.chance(0.2) ? [...changed, ...changed] : changed;
  }
  const entries = Object.entries(tree);
  const [key, old] = entries.length === 0 ? ["", null] : random.pick(entries);
  const others = entries.filter(([each]) => each !== key);
  const roll = random.next();
  if (roll < 0.1) return Object.fromEntries(others);
  if (roll < 0.2) return record([...entries, [random.pick(keys), strange(random, old)]]);
  if (roll < 0.25) return record([...others, [random.pick(operators), old]]);
  if (roll < 0.3) return new RawJson(`{${pair(key, old)},${pair(key, strange(random, old))}}`);
  return record([...others, [key, mutateTree(random, old)]]);
}

/** Something else in the place of a value. */
function strange(random: Random, old: Tree): Tree {
  const depth = random.pick(depths);
  const makers: readonly (() => Tree)[] = [
    () => null,
    () => random.chance(0.5),
    () => random.pick([0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, 5e-324]),
    () => new RawJson(random.pick(["1e400", "-0", "-1e400", "9".repeat(400), "1E5", "0.1e-999"])),
    () => random.pick(["", "on", "\ud800", "${x}", "x".repeat(2_000), "true", "1.2.3", "\u2028", "../.."]),
    () => [],
    () => ({}),
    () => [old],
    () => ({ [random.pick(operators)]: old }),
    () => ({
      [random.pick(operators)]: [
        old,
        old,
        { var: random.pick(["", "a", "a.b.c", "targetingKey", "$flagd.flagKey"]) },
      ],
    }),
    () => ({ $ref: random.pick(["shared", "missing", "__proto__", "shared/x"]) }),
    () => new RawJson("[".repeat(depth) + "]".repeat(depth)),
    () => new RawJson('{"!":['.repeat(depth) + "true" + "]}".repeat(depth)),
    () => new RawJson('{"a":'.repeat(depth) + "1" + "}".repeat(depth)),
    () => Array.from({ length: random.pick([10, 1_000]) }, (_, index) => index),
  ];
  return random.pick(makers)();
}

/** `__proto__` becomes a key like any other. */
function record(entries: readonly (readonly [string, Tree])[]): Tree {
  return new RawJson(`{${entries.map(([key, value]) => pair(key, value)).join(",")}}`);
}

function pair(key: string, value: Tree): string {
  return `${JSON.stringify(key)}:${stringify(value)}`;
}

function stringify(tree: Tree): string {
  if (tree instanceof RawJson) return tree.text;
  if (isList(tree)) return `[${tree.map(stringify).join(",")}]`;
  if (tree === null || typeof tree !== "object") return JSON.stringify(tree);
  return `{${Object.entries(tree)
    .map(([key, value]) => pair(key, value))
    .join(",")}}`;
}

function isList(tree: Tree): tree is readonly Tree[] {
  return Array.isArray(tree);
}

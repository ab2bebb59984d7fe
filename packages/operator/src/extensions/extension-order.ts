import { NamedExtensions, type Edge, type OrderedExtension } from "./named-extensions.js";

export type { OrderedExtension } from "./named-extensions.js";

export interface ExtensionOrder<Each extends OrderedExtension> {
  readonly order: readonly Each[];
  /**
   * By the name of an Extension, what of its `before` and `after` is left out, because it would lead in a circle: the names of the circle, which begins
   * and ends with it.
   */
  readonly cycles: ReadonlyMap<string, readonly string[]>;
}

/**
 * The order in which Extensions are asked: each after those that have to be before it, and of those that may be next, the one with the highest priority,
 * then the first by name.
 *
 * Of the edges of a circle, that of the youngest Extension is left out: one that is added keeps none from the place that others have asked for.
 */
export function extensionOrder<Each extends OrderedExtension>(
  extensions: readonly Each[],
): ExtensionOrder<Each> {
  const cycles = new Map<string, readonly string[]>();
  const graph: Graph = { successors: new Map(), predecessors: new Map() };
  const known = new NamedExtensions();
  // From the oldest to the youngest: an edge counts from the time at which both of its ends are there.
  for (const extension of extensions.toSorted(byAge)) {
    addEdges(extension.name, known.edgesOf(extension), graph, cycles);
    known.add(extension);
  }
  return { order: sorted(extensions, graph), cycles };
}

/** The names that come directly after one, and before it. Both have all names. */
interface Graph {
  readonly successors: Map<string, Set<string>>;
  readonly predecessors: Map<string, Set<string>>;
}

/** Adds the edges of the youngest but for those that lead in a circle: all edges of a circle that is new are by way of it. */
function addEdges(
  youngest: string,
  edges: readonly Edge[],
  { successors, predecessors }: Graph,
  cycles: Map<string, readonly string[]>,
): void {
  successors.set(youngest, new Set());
  predecessors.set(youngest, new Set());
  const after = new Set<string>();
  const before = new Set<string>();
  for (const { from, to, by } of edges) {
    if (from === youngest ? before.has(to) : after.has(from)) {
      if (!cycles.has(by)) cycles.set(by, circleFrom(by, wayFrom(to, from, successors)));
      continue;
    }
    successors.get(from)?.add(to);
    predecessors.get(to)?.add(from);
    if (from === youngest) addReachable(to, successors, after);
    else addReachable(from, predecessors, before);
  }
}

/** Adds a name, and all to which edges lead from it, unless they are there. */
function addReachable(name: string, edges: Graph["successors"], reached: Set<string>): void {
  if (reached.has(name)) return;
  const added = new Set([name]);
  for (const each of added) {
    reached.add(each);
    for (const next of edges.get(each) ?? []) if (!reached.has(next)) added.add(next);
  }
}

/** The names from one Extension to another along edges that lead there. */
function wayFrom(start: string, end: string, successors: Graph["successors"]): readonly string[] {
  const comesFrom = new Map<string, string | undefined>([[start, undefined]]);
  for (const name of comesFrom.keys()) {
    if (comesFrom.has(end)) break;
    for (const next of [...(successors.get(name) ?? [])].sort())
      if (!comesFrom.has(next)) comesFrom.set(next, name);
  }
  const way: string[] = [];
  for (let at: string | undefined = end; at !== undefined; at = comesFrom.get(at)) way.push(at);
  return way.reverse();
}

/** The names of a circle, which the edge from the last to the first would close, as one that begins and ends with a name of it. */
function circleFrom(name: string, names: readonly string[]): readonly string[] {
  const at = names.indexOf(name);
  return [...names.slice(at), ...names.slice(0, at), name];
}

function sorted<Each extends OrderedExtension>(
  extensions: readonly Each[],
  { successors, predecessors }: Graph,
): readonly Each[] {
  const left = new Map(extensions.map((each) => [each.name, each]));
  const waitsFor = new Map(Array.from(predecessors, ([name, { size }]) => [name, size]));
  const free = new Set(extensions.filter(({ name }) => waitsFor.get(name) === 0));
  const order: Each[] = [];
  for (;;) {
    const next = firstOf(free);
    if (next === undefined) return order;
    free.delete(next);
    order.push(next);
    for (const name of successors.get(next.name) ?? []) {
      const count = (waitsFor.get(name) ?? 0) - 1;
      waitsFor.set(name, count);
      const follower = left.get(name);
      if (count === 0 && follower !== undefined) free.add(follower);
    }
  }
}

function firstOf<Each extends OrderedExtension>(extensions: Iterable<Each>): Each | undefined {
  let first: Each | undefined;
  for (const each of extensions) if (first === undefined || byPriority(each, first) < 0) first = each;
  return first;
}

function byAge(a: OrderedExtension, b: OrderedExtension): number {
  return a.createdMs - b.createdMs || byName(a, b);
}

function byPriority(a: OrderedExtension, b: OrderedExtension): number {
  return b.priority - a.priority || byName(a, b);
}

function byName(a: OrderedExtension, b: OrderedExtension): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

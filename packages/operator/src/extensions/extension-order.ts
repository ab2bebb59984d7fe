/** What decides about the place of an Extension. */
export interface OrderedExtension {
  readonly name: string;
  /** In ms since the epoch. */
  readonly createdMs: number;
  /** The higher goes first, where nothing else says what does. */
  readonly priority: number;
  /** Names, or `category:NAME`. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly categories: readonly string[];
}

export interface ExtensionOrder<Each extends OrderedExtension> {
  readonly order: readonly Each[];
  /**
   * By the name of an Extension, what of its `before` and `after` is left out, because it would lead in a circle: the names of the circle, which begins
   * and ends with it.
   */
  readonly cycles: ReadonlyMap<string, readonly string[]>;
}

const categoryPrefix = "category:";

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
  const known: Each[] = [];
  const successors = new Map<string, Set<string>>();
  // From the oldest to the youngest: an edge counts from the time at which both of its ends are there.
  for (const extension of extensions.toSorted(byAge)) {
    known.push(extension);
    successors.set(extension.name, new Set());
    addEdges(edgesAmong(extension, known), successors, cycles);
  }
  return { order: sorted(known, successors), cycles };
}

interface Edge {
  readonly from: string;
  readonly to: string;
  /** Who asks for it. */
  readonly by: string;
}

/** The edges that come with the youngest: its own, and those of others that name it. Those of older ones first. */
function edgesAmong(youngest: OrderedExtension, known: readonly OrderedExtension[]): readonly Edge[] {
  const ofOthers = known.flatMap((other) => (other === youngest ? [] : edgesOf(other, youngest)));
  const own = known.flatMap((other) => (other === youngest ? [] : edgesOf(youngest, other)));
  return [...ofOthers, ...own];
}

function edgesOf(one: OrderedExtension, other: OrderedExtension): readonly Edge[] {
  const names = ({ name, categories }: OrderedExtension): ReadonlySet<string> =>
    new Set([name, ...categories.map((category) => `${categoryPrefix}${category}`)]);
  const ofOther = names(other);
  const isNamed = (list: readonly string[]): boolean => list.some((each) => ofOther.has(each));
  return [
    ...(isNamed(one.before) ? [{ from: one.name, to: other.name, by: one.name }] : []),
    ...(isNamed(one.after) ? [{ from: other.name, to: one.name, by: one.name }] : []),
  ];
}

function addEdges(
  edges: readonly Edge[],
  successors: Map<string, Set<string>>,
  cycles: Map<string, readonly string[]>,
): void {
  for (const { from, to, by } of edges) {
    const way = wayFrom(to, from, successors);
    if (way === undefined) successors.get(from)?.add(to);
    else if (!cycles.has(by)) cycles.set(by, circleFrom(by, way));
  }
}

/** The names from one Extension to another along the edges that there are; undefined if none leads there. */
function wayFrom(
  start: string,
  end: string,
  successors: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] | undefined {
  const ways = new Map<string, readonly string[]>([[start, [start]]]);
  for (const [name, way] of ways) {
    if (name === end) return way;
    for (const next of [...(successors.get(name) ?? [])].sort())
      if (!ways.has(next)) ways.set(next, [...way, next]);
  }
  return undefined;
}

/** The names of a circle, which the edge from the last to the first would close, as one that begins and ends with a name of it. */
function circleFrom(name: string, names: readonly string[]): readonly string[] {
  const at = names.indexOf(name);
  return [...names.slice(at), ...names.slice(0, at), name];
}

function sorted<Each extends OrderedExtension>(
  extensions: readonly Each[],
  successors: ReadonlyMap<string, ReadonlySet<string>>,
): readonly Each[] {
  const left = new Map(extensions.map((each) => [each.name, each]));
  const order: Each[] = [];
  while (left.size > 0) {
    const waiting = new Set([...left.keys()].flatMap((name) => [...(successors.get(name) ?? [])]));
    const free = [...left.values()].filter(({ name }) => !waiting.has(name));
    const [next] = free.toSorted(byPriority);
    if (next === undefined) break;
    order.push(next);
    left.delete(next.name);
  }
  return order;
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

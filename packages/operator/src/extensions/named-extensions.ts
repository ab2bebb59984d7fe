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

/** One Extension is to be before another. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  /** Who asks for it. */
  readonly by: string;
}

const categoryPrefix = "category:";

/** Extensions by what they are called, and by whom they name: thousands are not compared with each other. */
export class NamedExtensions {
  /** The oldest first. */
  readonly #ages = new Map<string, number>();
  /** By their names and categories. */
  readonly #called = new Map<string, string[]>();
  /** By what is in their `before`, and in their `after`. */
  readonly #before = new Map<string, string[]>();
  readonly #after = new Map<string, string[]>();

  add(extension: OrderedExtension): void {
    const { name, before, after } = extension;
    this.#ages.set(name, this.#ages.size);
    note(name, namesOf(extension), this.#called);
    note(name, before, this.#before);
    note(name, after, this.#after);
  }

  /** The edges between those that were added and one that is to be: first those that they ask for, then its own. */
  edgesOf(added: OrderedExtension): readonly Edge[] {
    const { name } = added;
    const names = namesOf(added);
    const ofOthers = this.#byAge([
      ...all(names, this.#before).map((by) => ({ from: by, to: name, by })),
      ...all(names, this.#after).map((by) => ({ from: name, to: by, by })),
    ]);
    const own = this.#byAge([
      ...all(added.before, this.#called).map((other) => ({ from: name, to: other, by: name })),
      ...all(added.after, this.#called).map((other) => ({ from: other, to: name, by: name })),
    ]);
    return [...ofOthers, ...own];
  }

  #byAge(edges: readonly Edge[]): readonly Edge[] {
    // Of each, one end is not there yet.
    const age = ({ from, to }: Edge): number => this.#ages.get(from) ?? this.#ages.get(to) ?? 0;
    return edges.toSorted((a, b) => age(a) - age(b));
  }
}

function namesOf({ name, categories }: OrderedExtension): readonly string[] {
  return [name, ...categories.map((category) => `${categoryPrefix}${category}`)];
}

function note(name: string, keys: readonly string[], to: Map<string, string[]>): void {
  for (const key of new Set(keys)) {
    const before = to.get(key);
    if (before === undefined) to.set(key, [name]);
    else before.push(name);
  }
}

function all(keys: readonly string[], among: ReadonlyMap<string, readonly string[]>): readonly string[] {
  return [...new Set(keys.flatMap((key) => among.get(key) ?? []))];
}

/** The parts of a program are classes and functions. */
type Part = (abstract new (...given: never) => object) | ((...given: never) => unknown);
type Given<P> = P extends abstract new (...given: infer G) => object
  ? G
  : P extends (...given: infer G) => unknown
    ? G
    : never;
type Made<P> = P extends abstract new (...given: never) => infer M
  ? M
  : P extends (...given: never) => infer M
    ? M
    : never;

/** A part that was made: what it was given, and what it is. */
export interface Use<P> {
  readonly given: Given<P>;
  readonly made: Made<P>;
}

/** The parts of a program as they are. They work as ever, and it is remembered what each of them was given. */
export class RecordedParts<Parts extends Readonly<Record<keyof Parts, Part>>> {
  readonly parts: Parts;
  readonly #uses = new Map<keyof Parts, Use<Part>[]>();

  /** @param instead parts that are not to do what they do, such as to open ports */
  constructor(parts: Parts, instead: Partial<Parts> = {}) {
    const all = { ...parts, ...instead };
    const names = Object.keys(all) as (keyof Parts)[];
    this.parts = Object.fromEntries(names.map((name) => [name, this.#recorded(name, all[name])])) as Parts;
  }

  /** All uses of a part, in order. */
  all<Name extends keyof Parts>(name: Name): readonly Use<Parts[Name]>[] {
    return this.#uses.get(name) ?? [];
  }

  /** The use of a part that is used once, or once with what is looked for. */
  one<Name extends keyof Parts>(
    name: Name,
    isIt: (use: Use<Parts[Name]>) => boolean = () => true,
  ): Use<Parts[Name]> {
    const [use, ...more] = this.all(name).filter(isIt);
    if (use === undefined || more.length > 0)
      throw new Error(`${String(name)} was used ${use === undefined ? 0 : 1 + more.length} times, not once`);
    return use;
  }

  #recorded(name: keyof Parts, part: Part): Part {
    const record = (given: readonly unknown[], made: unknown): void => {
      const uses = this.#uses.get(name) ?? [];
      uses.push({ given, made } as unknown as Use<Part>);
      this.#uses.set(name, uses);
    };
    return new Proxy(part as object as new (...given: unknown[]) => object, {
      construct: (target, given: unknown[], newTarget) => {
        const made = Reflect.construct(target, given, newTarget) as object;
        record(given, made);
        return made;
      },
      apply: (target, self, given: unknown[]) => {
        const made: unknown = Reflect.apply(target as unknown as () => unknown, self, given as []);
        record(given, made);
        return made;
      },
    });
  }
}

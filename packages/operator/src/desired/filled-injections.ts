import {
  injectionFormat,
  injectionHead,
  injectionNames,
  type Injection,
  type InjectionEntry,
  type InjectionSpec,
} from "../api/injection.js";

type List = "sources" | "inProcess";

/** What an Injection has room for: etcd takes 1.5 MB, and every admission of a Pod reads the first one of the namespace. */
export const maxTexts = 200;
export const maxBytes = 900_000;

/** What is left. */
export interface Room {
  texts: number;
  bytes: number;
}

/** What an Injection says of a text. */
export interface PlacedText {
  readonly list: List;
  readonly text: string;
  /** What Pods get, or why an extension refuses it. */
  readonly said: { readonly entry: InjectionEntry } | { readonly refusal: string };
}

interface Filled {
  readonly room: Room;
  readonly placed: PlacedText[];
}

/** The Injections of a namespace, the one that API servers read first, and further ones for webhooks. */
export class FilledInjections {
  readonly #namespace: string;
  readonly #all: readonly Filled[];

  constructor(namespace: string, count: number) {
    this.#namespace = namespace;
    this.#all = injectionNames
      .slice(0, count)
      .map(() => ({ room: { texts: maxTexts, bytes: maxBytes }, placed: [] }));
  }

  /**
   * Puts a text into the first one that has room, if these others have, too.
   *
   * @returns which one that is, from 0; undefined if there is no room
   */
  put(text: PlacedText, bytes: number, others: readonly Room[]): number | undefined {
    const fits = (room: Room): boolean => room.texts > 0 && bytes <= room.bytes;
    const at = this.#all.findIndex(({ room }) => fits(room));
    const filled = this.#all[at];
    if (filled === undefined || !others.every(fits)) return undefined;
    for (const room of [filled.room, ...others]) {
      room.texts--;
      room.bytes -= bytes;
    }
    filled.placed.push(text);
    return at;
  }

  /** Those that say something. */
  injections(): readonly Injection[] {
    return this.#all.flatMap(({ placed }, at) => {
      const name = injectionNames[at];
      if (name === undefined || placed.length === 0) return [];
      const metadata = { name, namespace: this.#namespace };
      return [{ ...injectionHead, metadata, spec: specOf(placed) }];
    });
  }
}

function specOf(placed: readonly PlacedText[]): InjectionSpec {
  const of = <Said>(
    list: List,
    saidOf: (said: PlacedText["said"]) => readonly Said[],
  ): Record<string, Said> =>
    Object.fromEntries(
      placed
        .filter((each) => each.list === list)
        .flatMap(({ text, said }) => saidOf(said).map((each) => [text, each] as const))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  const entries = (said: PlacedText["said"]): InjectionEntry[] => ("entry" in said ? [said.entry] : []);
  const refusals = (said: PlacedText["said"]): string[] => ("refusal" in said ? [said.refusal] : []);
  const isRefusing = placed.some(({ said }) => "refusal" in said);
  return {
    format: injectionFormat,
    sources: of("sources", entries),
    inProcess: of("inProcess", entries),
    ...(isRefusing
      ? { refused: { sources: of("sources", refusals), inProcess: of("inProcess", refusals) } }
      : {}),
  };
}

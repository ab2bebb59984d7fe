import { canonicalJson, compareUtf8, type JsonObject } from "@bunting/protocol";
import { compareFlagSetIds, type Flag } from "@bunting/evaluation";
import { frameToFill } from "@bunting/rpc";
import type { FlagReader } from "../backend.js";
import type { Selection } from "../selection.js";

const opening = Buffer.from('{"flags":{');
const closing = Buffer.from("}}");
const comma = 0x2c;
const nothing = Buffer.alloc(0);

/**
 * Characters of new texts that are kept from the time when they are measured until they are written. Further ones are made again: as objects they
 * would take several times as much as they are written to.
 */
const maxKeptCharacters = 64 * 1024;

/**
 * Flags as in-process providers get them: a framed message whose first field is the document. It is one buffer of exactly its size, written once,
 * and no text of it stays on the heap: of a megabyte of flags, each copy counts in a small container.
 */
export class FlagsFrame {
  /** Shared by all calls that send it: must not be modified. */
  readonly frame: Buffer;
  /** The document: a part of the frame. */
  readonly text: Buffer;
  /** In the order of the document; undefined for those that were forgotten. */
  readonly #flags: (Flag | undefined)[];
  /** Where each flag begins in the text, and where another one would. */
  readonly #starts: Uint32Array;

  /**
   * Writes the document that providers evaluate in process: only flagd's fields, `$ref` replaced, the set's metadata in each flag, and no `key`,
   * for which Python would refuse the whole document. Equal flags give equal text.
   *
   * Flags are members by key: of flags in several sets with the same key, the one with the greatest flagSetId is taken, as in flagd.
   *
   * @param following the fields of the message behind the document
   * @param previous from which flags that have not changed are copied
   */
  constructor(all: Iterable<Flag>, following: Uint8Array = nothing, previous?: FlagsFrame) {
    const flags = inOrder(all);
    const places = previous?.placesOf(flags);
    const kept = new Map<Flag, string>();
    let keptCharacters = 0;
    const starts = new Uint32Array(flags.length + 1);
    let at = opening.length;
    for (const [index, flag] of flags.entries()) {
      starts[index] = at;
      const place = places?.[index] ?? -1;
      if (place >= 0) at += previous?.lengthOf(place) ?? 0;
      else {
        const member = memberOf(flag);
        at += Buffer.byteLength(member);
        keptCharacters += member.length;
        if (keptCharacters <= maxKeptCharacters) kept.set(flag, member);
      }
      at++;
    }
    starts[flags.length] = at;
    // The brackets take the place of the last comma.
    const bytes = Math.max(opening.length, at - 1) + closing.length;
    const { frame, start } = frameToFill(1, bytes, following);
    const text = frame.subarray(start, start + bytes);
    text.set(opening);
    for (const [index, flag] of flags.entries()) {
      const from = starts[index] ?? 0;
      const place = places?.[index] ?? -1;
      if (place >= 0) previous?.copy(place, text, from);
      else text.write(kept.get(flag) ?? memberOf(flag), from);
      text[(starts[index + 1] ?? 0) - 1] = comma;
    }
    text.set(closing, bytes - closing.length);
    this.frame = frame;
    this.text = text;
    this.#flags = flags;
    this.#starts = starts;
  }

  /** Lets go of flags that are not served any more: the frame may live on as the previous one. */
  forget(gone: ReadonlySet<Flag>): void {
    for (const [index, flag] of this.#flags.entries())
      if (flag !== undefined && gone.has(flag)) this.#flags[index] = undefined;
  }

  /** Where each flag is in this frame; -1 for those that are not. Both lists are in the order of the keys. */
  protected placesOf(flags: readonly Flag[]): Int32Array {
    const known = this.#flags;
    const places = new Int32Array(flags.length);
    let at = 0;
    for (const [index, flag] of flags.entries()) {
      while (at < known.length && known[at] !== flag && isBefore(known[at], flag)) at++;
      places[index] = known[at] === flag ? at : -1;
    }
    return places;
  }

  protected lengthOf(index: number): number {
    return (this.#starts[index + 1] ?? 0) - 1 - (this.#starts[index] ?? 0);
  }

  protected copy(index: number, target: Buffer, at: number): void {
    const start = this.#starts[index] ?? 0;
    this.text.copy(target, at, start, start + this.lengthOf(index));
  }
}

export function selectedFlags(reader: FlagReader, { select }: Selection): Iterable<Flag> {
  const flags = reader.flags();
  return select === undefined ? flags : [...flags].filter(select);
}

function inOrder(flags: Iterable<Flag>): Flag[] {
  const byKey = new Map<string, Flag>();
  for (const flag of flags) {
    const other = byKey.get(flag.key);
    if (other === undefined || compareFlagSetIds(other.flagSetId, flag.flagSetId) <= 0)
      byKey.set(flag.key, flag);
  }
  return [...byKey.values()].sort((a, b) => compareUtf8(a.key, b.key));
}

function isBefore(known: Flag | undefined, flag: Flag): boolean {
  return known === undefined || compareUtf8(known.key, flag.key) < 0;
}

function memberOf(flag: Flag): string {
  return `${JSON.stringify(flag.key)}:${canonicalJson(definitionOf(flag))}`;
}

function definitionOf(flag: Flag): JsonObject {
  // A flag without a default variant has an empty one, as flagd writes it: the provider for Rust refuses all flags where one lacks the field.
  const { state, defaultVariant = "", targeting, metadata, source } = flag;
  return {
    state,
    source,
    variants: Object.fromEntries(flag.variants),
    defaultVariant,
    ...(targeting === undefined ? {} : { targeting }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

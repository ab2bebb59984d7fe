import type { FlagOrigin } from "@bunting/evaluation";
import type { Clock } from "@bunting/runtime";
import type { ChangeType, FlagChange } from "../../store/flag-change.js";
import type { CurrentFlags } from "../backend.js";
import type { Selection } from "../selection.js";

/** Limit of all entries together, in bytes. */
const maxBytes = 1024 * 1024;
/** Size of an entry beside its text, in bytes. */
const entryBytes = 160;
/** From how many changes at once on a young agent keeps no entries of them: with 1,000 flags they took 0.3 MB of an idle sidecar. */
const manyChanges = 256;

interface Recent {
  readonly origin: FlagOrigin & { readonly key: string };
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * Flags whose changes a new stream's client may have missed. The client may hold answers that it cached during an earlier stream, perhaps to
 * another agent process, and nobody told it of changes between the two streams. While the agent is young, these are all flags; later, the flags
 * that changed lately.
 *
 * Memory is bounded. When there is no room for a change, all flags count as changed for as long as the change would be kept. That covers every
 * flag that is served; of those that are gone, the oldest are forgotten.
 */
export class RecentChanges {
  readonly #clock: Clock;
  readonly #flags: CurrentFlags;
  readonly #recentMs: number;
  /** By flag and source, the latest change last. */
  readonly #changed = new Map<string, Recent>();
  #bytes = 0;
  /** Until then, any flag may have changed. */
  #allUntilMs: number;
  #version = 0;

  /** @param recentMs how long a change is recent; longer than any client waits between two streams */
  constructor(clock: Clock, flags: CurrentFlags, recentMs: number) {
    this.#clock = clock;
    this.#flags = flags;
    this.#recentMs = recentMs;
    this.#allUntilMs = clock.monotonicMs() + recentMs;
  }

  /** Grows whenever `of` may give another answer. */
  get version(): number {
    this.#expire();
    return this.#version;
  }

  /** To be called after each change of the flags. */
  add(changes: readonly FlagChange[]): void {
    this.#expire();
    this.#version++;
    // One time for all of them: with each that is later, room would be made again, among thousands that are gone for good.
    const atMs = this.#clock.monotonicMs();
    // The first documents of a young agent: all flags count as changed already, and do so for a little longer.
    if (changes.length >= manyChanges && this.#isAnyChanged) this.#makeRoom(atMs);
    for (const { before, after } of changes) {
      if (before !== undefined) this.#note(before, atMs);
      if (after !== undefined && after.source !== before?.source) this.#note(after, atMs);
    }
  }

  /** By key, how the selected flags may differ from what a client knows. */
  of(select: Selection["select"]): ReadonlyMap<string, ChangeType> {
    this.#expire();
    const keys = new Map<string, ChangeType>();
    if (this.#isAnyChanged) {
      for (const flag of this.#flags.flags())
        if (select === undefined || select(flag)) keys.set(flag.key, "update");
    }
    for (const { origin } of this.#changed.values()) {
      if (select !== undefined && !select(origin)) continue;
      const { key, flagSetId } = origin;
      const flag = this.#flags.flag(flagSetId, key);
      const isServed = flag !== undefined && (select === undefined || select(flag));
      if (isServed || !keys.has(key)) keys.set(key, isServed ? "update" : "delete");
    }
    return keys;
  }

  get #isAnyChanged(): boolean {
    return this.#clock.monotonicMs() < this.#allUntilMs;
  }

  #note({ key, flagSetId, source }: FlagOrigin & { readonly key: string }, atMs: number): void {
    const origin = { key, flagSetId, source };
    const isCovered = (): boolean => this.#allUntilMs === atMs + this.#recentMs && this.#isServed(origin);
    if (isCovered()) return;
    const id = JSON.stringify([flagSetId, key, source]);
    const bytes = entryBytes + 2 * id.length;
    this.#forget(id);
    if (this.#bytes + bytes > maxBytes) {
      this.#makeRoom(atMs);
      if (isCovered()) return;
    }
    while (this.#changed.size > 0 && this.#bytes + bytes > maxBytes) this.#forgetOldest();
    this.#changed.set(id, { origin, atMs, bytes });
    this.#bytes += bytes;
  }

  /** Lets all flags count as changed, which covers those that are served: they need no entries. */
  #makeRoom(atMs: number): void {
    if (this.#allUntilMs === atMs + this.#recentMs) return;
    this.#allUntilMs = atMs + this.#recentMs;
    for (const [id, { origin }] of this.#changed) if (this.#isServed(origin)) this.#forget(id);
  }

  #isServed({ key, flagSetId, source }: Recent["origin"]): boolean {
    return this.#flags.flag(flagSetId, key)?.source === source;
  }

  #expire(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#allUntilMs <= nowMs && this.#allUntilMs > 0) {
      this.#allUntilMs = 0;
      this.#version++;
    }
    for (const { atMs } of this.#changed.values()) {
      if (atMs + this.#recentMs > nowMs) break;
      this.#forgetOldest();
      this.#version++;
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#changed.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(id: string): void {
    this.#bytes -= this.#changed.get(id)?.bytes ?? 0;
    this.#changed.delete(id);
  }
}

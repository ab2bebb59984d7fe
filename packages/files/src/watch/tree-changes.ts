import { dirname } from "node:path";
import { SetMultimap } from "@bunting/runtime";

/** The kernel silently drops events beyond 16,384 (max_queued_events): after a quarter of them, everything is examined. */
const maxEvents = 4_096;

/** What the next scan has to examine. */
export class TreeChanges {
  readonly #paths = new SetMultimap<string, string>();
  /** Paths of which one rename is all that is known to have happened. */
  readonly renamed = new Set<string>();
  #isAll = false;
  #isOfLinks = false;
  #events = 0;

  get isEmpty(): boolean {
    return this.#events === 0;
  }

  get isAll(): boolean {
    return this.#isAll;
  }

  /** All links lead elsewhere, perhaps. */
  get isOfLinks(): boolean {
    return this.#isAll || this.#isOfLinks;
  }

  /** The paths in a directory that changed. */
  in(directory: string): ReadonlySet<string> {
    return this.#paths.get(directory);
  }

  has(path: string): boolean {
    return this.#paths.get(dirname(path)).has(path);
  }

  addAll(): void {
    this.#isAll = true;
    this.#events++;
  }

  addLinks(): void {
    this.#isOfLinks = true;
    this.#count();
  }

  /** A file changed, or a directory with all that is in it. */
  add(path: string, isRename = false): void {
    if (isRename && !this.has(path)) this.renamed.add(path);
    else this.renamed.delete(path);
    this.#paths.add(dirname(path), path);
    this.#count();
  }

  #count(): void {
    if (++this.#events <= maxEvents) return;
    this.#isAll = true;
    this.renamed.clear();
  }
}

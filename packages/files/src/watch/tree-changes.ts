import { dirname } from "node:path";
import { SetMultimap } from "@bunting/runtime";

/** The kernel silently drops events beyond 16,384 (max_queued_events): after a quarter of them, everything is examined. */
const maxEvents = 4_096;

/** What the next scan has to examine. */
export class TreeChanges {
  readonly #paths = new SetMultimap<string, string>();
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

  addAll(): void {
    this.#isAll = true;
    this.#events++;
  }

  addLinks(): void {
    this.#isOfLinks = true;
    this.#count();
  }

  /** A file changed, or a directory with all that is in it. */
  add(path: string): void {
    this.#paths.add(dirname(path), path);
    this.#count();
  }

  #count(): void {
    if (++this.#events > maxEvents) this.#isAll = true;
  }
}

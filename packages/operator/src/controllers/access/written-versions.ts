import { SweepSize } from "../sweep-size.js";

/** What an object was made of, and its version since. */
interface Written {
  readonly input: string;
  readonly resourceVersion: string | undefined;
}

/** Knows which objects are as they were written last, and need no request. */
export class WrittenVersions {
  readonly #versionOf: (key: string) => string | undefined;
  readonly #written = new Map<string, Written>();
  readonly #sweepSize = new SweepSize();

  /** @param versionOf the version of an object as it is now; undefined if there is none */
  constructor(versionOf: (key: string) => string | undefined) {
    this.#versionOf = versionOf;
  }

  wrote(key: string, input: string, resourceVersion: string | undefined): void {
    this.#written.set(key, { input, resourceVersion });
    if (!this.#sweepSize.isOver(this.#written.size)) return;
    // Deletions by others are not reported to this class: each object is looked up.
    for (const each of this.#written.keys())
      if (each !== key && this.#versionOf(each) === undefined) this.#written.delete(each);
    this.#sweepSize.swept(this.#written.size);
  }

  /** True if the object was made of this input, and nobody has changed it since. */
  isSame(key: string, input: string): boolean {
    const written = this.#written.get(key);
    const resourceVersion = this.#versionOf(key);
    return (
      written?.input === input && resourceVersion !== undefined && written.resourceVersion === resourceVersion
    );
  }
}

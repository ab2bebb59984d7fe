import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

/** How many digests are kept for each file of the checkout: those of some branches. */
const keptOfEach = 6;

/** Digests of files that a check has passed, kept for all checkouts: a file that has one of them passes again. */
export class PassedFiles {
  readonly #file: string;
  readonly #digests: ReadonlyMap<string, string>;
  readonly #passed: ReadonlySet<string>;

  /**
   * @param file where they are kept
   * @param digests of each file of the checkout, of all that the check's verdict depends on
   */
  constructor(file: string, digests: ReadonlyMap<string, string>) {
    this.#file = file;
    this.#digests = digests;
    this.#passed = new Set(readLines(file));
  }

  /** The files that have to be checked. */
  get left(): readonly string[] {
    return [...this.#digests].filter(([, digest]) => !this.#passed.has(digest)).map(([file]) => file);
  }

  /** Remembers all files but these, which the check has found something in. */
  passedBut(faulty: ReadonlySet<string>): void {
    const passing = [...this.#digests].filter(([file]) => !faulty.has(file)).map(([, digest]) => digest);
    // Those of this checkout first: the oldest of others are forgotten.
    const kept = [...new Set([...passing, ...this.#passed])].slice(0, keptOfEach * this.#digests.size);
    mkdirSync(path.dirname(this.#file), { recursive: true });
    const unfinished = `${this.#file}.${process.pid}`;
    writeFileSync(unfinished, `${kept.join("\n")}\n`);
    renameSync(unfinished, this.#file);
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch {
    // None yet.
    return [];
  }
}

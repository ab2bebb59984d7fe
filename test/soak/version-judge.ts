import type { DocumentName, SoakDocuments } from "./soak-documents.js";

/** How long an edit may take to everyone, once nothing on its way is restarted or frozen. */
export const arrivalMs = 30_000;

/** What a document passes through to a reader, and until when one of it was away. */
export class Way {
  /** Infinity while it is away. */
  awayUntilMs = -Infinity;

  isAway(): void {
    this.awayUntilMs = Infinity;
  }

  isBack(): void {
    this.awayUntilMs = performance.now();
  }
}

/** Judges the versions that one reader is given: each has to be one that was written, none older than one before, and none too old. */
export class VersionJudge {
  /** How many versions it was given. */
  answers = 0;
  newest = 0;
  readonly #documents: SoakDocuments;
  readonly #name: DocumentName;
  readonly #ways: readonly Way[];
  readonly #report: (problem: string) => void;

  /** @param ways to the reader, the reader itself among them. */
  constructor(
    documents: SoakDocuments,
    name: DocumentName,
    ways: readonly Way[],
    report: (problem: string) => void,
  ) {
    this.#documents = documents;
    this.#name = name;
    this.#ways = ways;
    this.#report = report;
  }

  /** @param askedMs before which time the answer can't be from, of `performance.now()`. */
  take(version: number, askedMs: number): void {
    this.answers++;
    if (!this.#documents.has(this.#name, version)) this.#report(`answered ${version}, which never was`);
    if (version < this.newest) this.#report(`answered ${version} after ${this.newest}`);
    this.newest = version;
    if (!this.isDueFrom(askedMs)) return;
    const due = this.#documents.asOf(this.#name, askedMs - arrivalMs);
    if (version < due)
      this.#report(`answered ${version}, while ${due} is more than ${arrivalMs / 1_000} s old`);
  }

  /** The reader is another process now, which begins with what its source or its cache has. */
  beginAgain(): void {
    this.newest = 0;
  }

  /** Whether everything on the way has been there for so long that edits should have arrived. */
  isDueFrom(ms: number): boolean {
    return this.#ways.every(({ awayUntilMs }) => awayUntilMs < ms - arrivalMs);
  }
}

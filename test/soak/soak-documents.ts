import type { TempDirectory } from "../support/temp-directory.js";

export type DocumentName = "small" | "large";

/** Versions that were current longer ago than this are forgotten. */
const rememberedMs = 120_000;
/** The large document is written with every so many edits only. */
const largeEvery = 3;

interface Written {
  readonly version: number;
  readonly atMs: number;
}

/** The flag `version` in a small document, and in one of a megabyte of which nothing else changes; and when each version was written. */
export class SoakDocuments {
  readonly #directory: TempDirectory;
  readonly #written: Readonly<Record<DocumentName, Written[]>> = { small: [], large: [] };
  #version = 0;

  constructor(directory: TempDirectory) {
    this.#directory = directory;
  }

  edit(): void {
    const version = ++this.#version;
    const flag = { state: "ENABLED", variants: { now: version }, defaultVariant: "now" };
    this.#write("small", version, { version: flag });
    if (version % largeEvery === 1) this.#write("large", version, { version: flag, ...rest });
  }

  newest(name: DocumentName): number {
    return this.#written[name].at(-1)?.version ?? 0;
  }

  /** The version that was the newest at a time, of `performance.now()`; 0 before the first that is remembered. */
  asOf(name: DocumentName, ms: number): number {
    return this.#written[name].findLast(({ atMs }) => atMs <= ms)?.version ?? 0;
  }

  /** False for a version that the document never had. */
  has(name: DocumentName, version: number): boolean {
    return (
      Number.isInteger(version) &&
      version > 0 &&
      version <= this.newest(name) &&
      (name === "small" || version % largeEvery === 1)
    );
  }

  #write(name: DocumentName, version: number, flags: Readonly<Record<string, unknown>>): void {
    // Before it is written: a reader may be faster than this process.
    const atMs = performance.now();
    const written = this.#written[name];
    written.push({ version, atMs });
    while ((written[1]?.atMs ?? Infinity) < atMs - rememberedMs) written.shift();
    this.#directory.replace(`${name}.json`, JSON.stringify({ flags }));
  }
}

const rest = Object.fromEntries(
  Array.from({ length: 4_000 }, (_, index) => [
    `flag-${index}`,
    {
      state: "ENABLED",
      variants: { on: true, off: false, text: "x".repeat(150) },
      defaultVariant: "on",
    },
  ]),
);

/** Progress of a long build on stderr: one line that is rewritten on a terminal, a line every half minute elsewhere. */
export class Progress {
  readonly #what: string;
  readonly #sinceMs = Date.now();
  readonly #counts = { modules: 0, packages: 0 };
  readonly #timer: NodeJS.Timeout;

  constructor(what: string) {
    this.#what = what;
    process.stderr.write(`bunting: ${what} …\n`);
    this.#timer = setInterval(() => this.#show(), process.stderr.isTTY ? 1_000 : 30_000);
  }

  count(word: "modules" | "packages"): void {
    this.#counts[word]++;
  }

  end(how: "done" | "failed"): void {
    clearInterval(this.#timer);
    if (process.stderr.isTTY) process.stderr.write("\n");
    process.stderr.write(`bunting: ${this.#what}: ${how} after ${this.#seconds()} s\n`);
  }

  #show(): void {
    const { modules, packages } = this.#counts;
    const line = `bunting: ${this.#seconds()} s, ${modules} modules fetched, ${packages} packages compiled`;
    process.stderr.write(process.stderr.isTTY ? `\r${line}` : `${line}\n`);
  }

  #seconds(): number {
    return Math.round((Date.now() - this.#sinceMs) / 1000);
  }
}

import { appendFileSync, readFileSync } from "node:fs";
import { expect } from "chai";

const sampleMs = 50;
const mebibyte = 1024 * 1024;

/**
 * Watches the memory of a process that is attacked. What a test pins is that memory does not grow with the attack. A process that has just
 * started grows under any load: V8 extends its heap before it collects for the first time and compiles what is called often, and malloc
 * keeps what the compilers had. That is up to 60 MB for a proxy and 25 MB for an agent on Node 24, 45 and 5 MB on Node 20. So a test attacks
 * with a part first, calls `markWarm`, and attacks with the rest.
 *
 * Only anonymous memory counts: the other part of the resident set is pages of node's binary, which the system can drop.
 */
export class Vitals {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #idleBytes: number;
  #peakBytes: number;

  /** Starts to watch; what the process has now counts as idle. Call `stop` afterwards. */
  constructor(pid: number) {
    this.#pid = pid;
    this.#idleBytes = this.#currentBytes();
    this.#peakBytes = this.#idleBytes;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** The most that the process has had so far counts as idle. */
  markWarm(): void {
    this.#sample();
    this.#idleBytes = this.#peakBytes;
  }

  /** How far the process has been above idle at most, in bytes. */
  get peakGrowthBytes(): number {
    this.#sample();
    return this.#peakBytes - this.#idleBytes;
  }

  /** @throws AssertionError if the process has been further above idle than that, or has ended. */
  expectGrowthBelow(mebibytes: number): void {
    const growth = this.peakGrowthBytes;
    record(growth / mebibyte, mebibytes);
    expect(growth, `grew by ${Math.round(growth / mebibyte)} MiB`).to.be.lessThan(mebibytes * mebibyte);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const now = this.#currentBytes();
    if (!(now <= this.#peakBytes)) this.#peakBytes = now;
  }

  /** NaN, which fails every comparison, once the process has ended: why it did is for the test to say. */
  #currentBytes(): number {
    try {
      const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
      return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
    } catch {
      return Number.NaN;
    }
  }
}

/** For choosing bounds: BUNTING_VITALS names a file that each check appends its line, its growth and its bound to. */
function record(mebibytes: number, bound: number): void {
  const file = process.env["BUNTING_VITALS"];
  if (file === undefined) return;
  const stack = new Error("for its stack").stack ?? "";
  const place = stack.match(/[\w-]+\.test\.ts:\d+/g)?.at(-1) ?? "?";
  appendFileSync(file, `${[process.version, place, mebibytes.toFixed(1), bound].join("\t")}\n`);
}

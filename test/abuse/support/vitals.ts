import { appendFileSync, readFileSync } from "node:fs";
import { expect } from "chai";

const sampleMs = 50;
/** Bytes of the unit in which tests count memory. */
export const mebibyte = 1024 * 1024;

/** How much more than the bound an attack makes a process hold that has the defect. */
const leastExcess = 1.5;

export interface GrowthCheck {
  /** In MiB: 1.8 times the largest growth that was seen, or more. */
  readonly below: number;
  /** What the attack since `markWarm` would make a process hold that has the defect, in MiB. */
  readonly attack: number;
}

/**
 * Watches the memory of a process that is attacked. What a test pins is that memory does not grow with the attack.
 *
 * A process that has just started grows under any load: V8 extends its heap before it collects for the first time and compiles what is
 * called often, and malloc keeps what the compilers had. So a test attacks with a part first, calls `markWarm`, and attacks with the rest.
 * Memory goes on to vary after that: garbage waits for the collector, tens of megabytes of it where bodies are outside of V8's heap, longer
 * on a machine that is slow or busy, and differently on each Node. So a bound has much room on both sides:
 *
 * - It is 1.8 times the largest growth that was seen on Node 20 and 24, on a quiet machine, a busy one (`npm run test:busy`), and on
 *   one CPU (`taskset -c 0`). With BUNTING_VITALS=/tmp/growths, each check appends its growth to that file.
 * - With the defect, the process would grow by 1.5 times the bound. Each check names that size, and fails if it is less: then it could not
 *   tell the defect from noise. The remedy is a larger attack, not a lower bound. Of what a peer does not read from its socket, the kernel
 *   takes some megabytes first.
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
    this.#timer = setInterval(() => this.#sample(), sampleMs).unref();
  }

  /** The most that the process has had so far counts as idle. */
  markWarm(): void {
    this.#sample();
    this.#idleBytes = this.#peakBytes;
  }

  /** @throws AssertionError if the process has been further above idle than that, has ended, or is attacked with too little. */
  expectGrowth({ below, attack }: GrowthCheck): void {
    expect(attack, `MiB of the attack, to tell the defect from ${below} MiB of noise`).to.be.at.least(
      leastExcess * below,
    );
    this.#expectGrowth(below);
  }

  /**
   * For a process that its container's limit or that of its heap would end, whatever it holds too much of: then the bound is what the
   * container has room for, and a defect that fills V8's heap ends the process before it is reached.
   *
   * @throws AssertionError if the process has been further above idle than that, or has ended.
   */
  expectWithinContainer(mebibytes: number): void {
    this.#expectGrowth(mebibytes);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #expectGrowth(mebibytes: number): void {
    this.#sample();
    const growth = (this.#peakBytes - this.#idleBytes) / mebibyte;
    record(growth, mebibytes);
    expect(growth, `grew by ${Math.round(growth)} MiB`).to.be.lessThan(mebibytes);
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

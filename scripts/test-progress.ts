import { FileTimes, slowestFiles } from "./file-times.js";
import type { TestReport } from "./test-report.js";

/** Of the files under way, those are named that have taken longer; in milliseconds. */
const slowMs = 10_000;

/** What one mocha is doing. */
interface MochaState {
  readonly times: FileTimes;
  file: string;
  sinceMs: number;
  isEnded: boolean;
}

export interface ProgressSettings {
  readonly now?: () => number;
  readonly write?: (text: string) => void;
  readonly isTerminal?: boolean;
  /** How many mochas run, by which it is known whether all have told how many tests they have. */
  readonly mochas: number;
}

/**
 * Says how far several mochas are together: one line that is rewritten on a terminal, a line every 20 s elsewhere, and one for each failure as
 * it happens.
 */
export class TestProgress {
  readonly #now: () => number;
  readonly #write: (text: string) => void;
  readonly #isTerminal: boolean;
  readonly #mochas: MochaState[];
  readonly #startedMs: number;
  readonly #done = { tests: 0, files: 0, failed: 0 };
  readonly #all = { tests: 0, files: 0, mochas: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor({ now, write, isTerminal, mochas }: ProgressSettings) {
    this.#now = now ?? (() => performance.now());
    this.#write = write ?? ((text) => void process.stderr.write(text));
    this.#isTerminal = isTerminal ?? process.stderr.isTTY;
    this.#startedMs = this.#now();
    this.#mochas = Array.from({ length: mochas }, () => ({
      times: new FileTimes(this.#now),
      file: "",
      sinceMs: this.#startedMs,
      isEnded: false,
    }));
  }

  start(): void {
    this.#timer = setInterval(() => this.show(), this.#isTerminal ? 1_000 : 20_000);
  }

  end(): void {
    clearInterval(this.#timer);
    if (this.#isTerminal) this.#write("\r\x1b[K");
  }

  /** What the mocha of that number has told. */
  report(mocha: number, report: TestReport): void {
    const state = this.#mochas[mocha];
    if (state === undefined) return;
    switch (report.kind) {
      case "began":
        this.#all.tests += report.tests;
        this.#all.files += report.files;
        this.#all.mochas++;
        return;
      case "file":
        this.#leave(state);
        state.file = report.file;
        return;
      case "failed":
        this.#done.failed++;
        this.print(`bunting: failed: ${report.file}: ${report.title}\n`);
        return;
      case "test":
        this.#done.tests++;
        state.times.ended(report.file);
        return;
      case "ended":
        this.#leave(state);
        state.file = "";
        state.isEnded = true;
    }
  }

  /** Text of its own lines, in place of the line that is rewritten. */
  print(text: string): void {
    this.#write(this.#isTerminal ? `\r\x1b[K${text}` : text);
  }

  show(): void {
    const line = this.line();
    this.#write(this.#isTerminal ? `\r\x1b[K${line.slice(0, process.stderr.columns - 1)}` : `${line}\n`);
  }

  line(): string {
    const { tests, files, failed } = this.#done;
    const all = this.#all;
    const more = all.mochas < this.#mochas.length ? " or more" : "";
    const failures = failed > 0 ? `, ${failed} failed` : "";
    const running = this.#mochas.filter(({ file, isEnded }) => file !== "" && !isEnded);
    const now = running.length > 0 ? `; in ${running.map((state) => this.#place(state)).join(", ")}` : "";
    return `bunting: ${this.#elapsed()}: ${tests} of ${all.tests}${more} tests, ${files} of ${all.files} files${failures}${now}`;
  }

  /** Of all mochas. */
  slowest(): readonly string[] {
    return slowestFiles(new Map(this.#mochas.flatMap(({ times }) => [...times.seconds()])));
  }

  #leave(state: MochaState): void {
    if (state.file !== "") this.#done.files++;
    state.sinceMs = this.#now();
  }

  /** The package or folder of the file under way, or the file and its seconds if it is slow. */
  #place({ file, sinceMs }: MochaState): string {
    const ms = this.#now() - sinceMs;
    return ms < slowMs ? file.split("/").slice(0, 2).join("/") : `${file} (${Math.round(ms / 1_000)} s)`;
  }

  #elapsed(): string {
    const seconds = Math.round((this.#now() - this.#startedMs) / 1_000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}

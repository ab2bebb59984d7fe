import { Agent, request } from "node:http";

const everyMs = 200;
/** How long a poll may fail after an excuse has ended: connections of before are reset then. */
const graceMs = 5_000;

/** Asks an agent for the flag `version` over OFREP, again and again, and judges each answer. */
export class AnswerPoller {
  answers = 0;
  /** Polls that failed while the agent was excused. */
  failures = 0;
  /** The version of the last answer. */
  newest = 0;
  readonly #report: (problem: string) => void;
  readonly #connections = new Agent({ keepAlive: true, maxSockets: 1 });
  #address: string;
  #expectedMs = 0;
  #running: Promise<void> | undefined;
  #hasEnded = false;

  /**
   * @param address of the OFREP port, with its scheme.
   * @param report is called for an answer that goes back, and for a poll that fails without an excuse.
   */
  constructor(address: string, report: (problem: string) => void) {
    this.#address = address;
    this.#report = report;
  }

  begin(): void {
    this.#running ??= this.#poll();
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#running;
    this.#connections.destroy();
  }

  /** The agent is about to be ended or frozen. */
  excuse(): void {
    this.#expectedMs = Infinity;
  }

  expect(): void {
    this.#expectedMs = performance.now() + graceMs;
  }

  /** Another process answers, which begins with what the proxy or its cache has. */
  moveTo(address: string): void {
    this.#address = address;
    this.newest = 0;
  }

  async #poll(): Promise<void> {
    while (!this.#hasEnded) {
      const asked = this.#address;
      const answer = await this.#ask().catch((error: unknown) => error as Error);
      if (typeof answer === "number") this.#judge(answer, asked);
      else if (performance.now() < this.#expectedMs) this.failures++;
      else this.#report(`no answer: ${answer.message}`);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  #judge(version: number, asked: string): void {
    this.answers++;
    if (asked !== this.#address) return;
    if (version < this.newest) this.#report(`answered ${version} after ${this.newest}`);
    this.newest = version;
  }

  #ask(): Promise<number> {
    return new Promise((resolve, reject) => {
      const asking = request(
        `${this.#address}/ofrep/v1/evaluate/flags/version`,
        {
          method: "POST",
          agent: this.#connections,
          timeout: 2_000,
          headers: { "content-type": "application/json" },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => (text += part));
          response.on("error", reject).on("end", () => {
            if (response.statusCode === 200) resolve((JSON.parse(text) as { value: number }).value);
            else reject(new Error(`${response.statusCode}: ${text}`));
          });
        },
      );
      asking.on("error", reject).on("timeout", () => asking.destroy(new Error("none within 2 s")));
      asking.end('{"context":{}}');
    });
  }
}

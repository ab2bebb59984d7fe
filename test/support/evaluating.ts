import { setTimeout as delay } from "node:timers/promises";

/** An application that asks one agent for a flag whose values are versions, again and again. */
export class Evaluating {
  readonly failures: string[] = [];
  readonly backwards: [held: number, came: number][] = [];
  readonly #url: string;
  readonly #running: Promise<void>;
  #isEnding = false;
  last = 0;
  answers = 0;

  constructor(ofrep: string, flag: string) {
    this.#url = `${ofrep}/ofrep/v1/evaluate/flags/${flag}`;
    this.#running = this.#run();
  }

  end(): Promise<void> {
    this.#isEnding = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      // Continuously, but not as fast as possible, to leave the machine to others.
      await delay(20);
      try {
        const body = JSON.stringify({ context: { targetingKey: "a" } });
        const headers = { "content-type": "application/json" };
        const response = await fetch(this.#url, { method: "POST", body, headers });
        const answer = (await response.json()) as { readonly value?: number };
        if (response.status !== 200 || typeof answer.value !== "number") {
          this.failures.push(`${response.status} ${JSON.stringify(answer)}`);
        } else this.#take(answer.value);
      } catch (error) {
        this.failures.push(String(error));
      }
    }
  }

  #take(version: number): void {
    this.answers++;
    if (version < this.last) this.backwards.push([this.last, version]);
    this.last = version;
  }
}

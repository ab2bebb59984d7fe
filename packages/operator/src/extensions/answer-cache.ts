import { createHash } from "node:crypto";
import type { ExtensionAnswer, ExtensionRequest } from "@bunting/extension";
import { canonicalJson, type JsonValue } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";

/** Equal questions are not asked again for that long. */
export const keptMs = 600_000;
/** Of all answers together, in characters of their JSON. */
const maxCharacters = 8 * 1024 * 1024;

interface KeptAnswer {
  readonly answer: ExtensionAnswer;
  readonly characters: number;
  readonly untilMs: number;
}

/** What extensions answered, by what they were asked: namespaces are compiled far more often than something of them changes. */
export class AnswerCache {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The oldest first. */
  readonly #answers = new Map<string, KeptAnswer>();
  #characters = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get(key: string): ExtensionAnswer | undefined {
    const kept = this.#answers.get(key);
    if (kept === undefined) return undefined;
    if (this.#clock.monotonicMs() < kept.untilMs) return kept.answer;
    this.#forget(key, kept);
    return undefined;
  }

  /** @param forMs how long it is kept */
  set(key: string, answer: ExtensionAnswer, forMs: number): void {
    const before = this.#answers.get(key);
    if (before !== undefined) this.#forget(key, before);
    const characters = key.length + JSON.stringify(answer).length;
    this.#answers.set(key, { answer, characters, untilMs: this.#clock.monotonicMs() + forMs });
    this.#characters += characters;
    for (const [oldest, kept] of this.#answers) {
      if (this.#characters <= maxCharacters) return;
      this.#forget(oldest, kept);
    }
  }

  #forget(key: string, { characters }: KeptAnswer): void {
    this.#answers.delete(key);
    this.#characters -= characters;
  }
}

/** What makes two questions the same: who is asked, and everything but the number of the call. */
export function questionKey(asked: string, question: Omit<ExtensionRequest, "uid">): string {
  const json = canonicalJson(JSON.parse(JSON.stringify(question)) as JsonValue);
  return createHash("sha256").update(`${asked}\n${json}`).digest("hex");
}

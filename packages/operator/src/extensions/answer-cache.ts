import { createHash } from "node:crypto";
import type { ExtensionAnswer, ExtensionRequest } from "@bunting/extension";
import { canonicalJson, type JsonValue } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";

/** Equal questions are not asked again for that long. */
export const keptMs = 600_000;
/** Of all answers together but the most frequent one, in characters of their JSON. */
const maxCharacters = 8 * 1024 * 1024;
/** Of the most frequent one, which takes some hundred bytes each time. */
const maxUnchanged = 100_000;

interface KeptAnswer {
  /** As text: thousands of objects of a dozen small ones each take five times as much. */
  readonly json: string;
  readonly untilSeconds: number;
}

const unchanged: ExtensionAnswer = { kind: "unchanged" };

/** What extensions answered, by what they were asked: namespaces are compiled far more often than something of them changes. */
export class AnswerCache {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The oldest first. */
  readonly #answers = new Map<string, KeptAnswer>();
  /** Until when objects may stay as they are, in whole seconds, which V8 keeps in place: most extensions say this of most objects. The oldest first. */
  readonly #unchanged = new Map<string, number>();
  #characters = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get(key: string): ExtensionAnswer | undefined {
    const kept = this.#answers.get(key);
    const untilSeconds = kept?.untilSeconds ?? this.#unchanged.get(key);
    if (untilSeconds === undefined) return undefined;
    if (this.#clock.monotonicMs() < untilSeconds * 1_000)
      return kept === undefined ? unchanged : (JSON.parse(kept.json) as ExtensionAnswer);
    this.#forget(key);
    return undefined;
  }

  /** @param forMs how long it is kept */
  set(key: string, answer: ExtensionAnswer, forMs: number): void {
    this.#forget(key);
    const untilSeconds = Math.ceil((this.#clock.monotonicMs() + forMs) / 1_000);
    if (answer.kind === "unchanged") this.#unchanged.set(key, untilSeconds);
    else {
      const json = JSON.stringify(answer);
      this.#answers.set(key, { json, untilSeconds });
      this.#characters += key.length + json.length;
    }
    for (const oldest of this.#unchanged.keys())
      if (this.#unchanged.size > maxUnchanged) this.#forget(oldest);
      else break;
    for (const oldest of this.#answers.keys())
      if (this.#characters > maxCharacters) this.#forget(oldest);
      else break;
  }

  #forget(key: string): void {
    this.#unchanged.delete(key);
    const kept = this.#answers.get(key);
    if (kept === undefined) return;
    this.#answers.delete(key);
    this.#characters -= key.length + kept.json.length;
  }
}

/** What makes two questions the same: who is asked, and everything but the number of the call. Its digest is kept for each, a character for each byte. */
export function questionKey(asked: string, question: Omit<ExtensionRequest, "uid">): string {
  const json = canonicalJson(JSON.parse(JSON.stringify(question)) as JsonValue);
  return createHash("sha256").update(`${asked}\n${json}`).digest().toString("latin1");
}

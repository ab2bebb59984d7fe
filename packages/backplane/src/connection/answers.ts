import { BackplaneError } from "../backplane-error.js";

/** Bytes of any text in an answer that is not a record: names of topics, replicas and streams, and numbers. */
const maxTextBytes = 1_024;

type Texts = readonly (string | undefined)[];

/**
 * Readers of what scripts answer. What answers may be something else than Redis, or be out of step: then the answer is not
 * one to our command, and neither is any that follows on the connection. Each throws BackplaneError REDIS_FAILED for that.
 */
export const answerOf = { texts, stated, buffers, nothing, flag };

/** Texts and numbers, and nothing for a nil. */
function texts(most: number): (answer: unknown) => Texts {
  return (answer) =>
    listOf(answer, most).map((one) => {
      if (one === null) return undefined;
      if (typeof one === "number") return String(one);
      if (!Buffer.isBuffer(one) || one.length > maxTextBytes) throw notUnderstood();
      return String(one);
    });
}

/** As texts, of which the first is one of these words. */
function stated(words: readonly string[], most = 3): (answer: unknown) => Texts {
  const read = texts(most);
  return (answer) => {
    const all = read(answer);
    if (!words.includes(all[0] ?? "")) throw notUnderstood();
    return all;
  };
}

/** As stated, but the texts are of any length, and left as they are. */
function buffers(words: readonly string[], most: number): (answer: unknown) => readonly (Buffer | number)[] {
  return (answer) => {
    const all = listOf(answer, most);
    if (!all.every((one) => Buffer.isBuffer(one) || typeof one === "number")) throw notUnderstood();
    if (!words.includes(String(all[0]))) throw notUnderstood();
    return all;
  };
}

function nothing(answer: unknown): undefined {
  if (answer !== null) throw notUnderstood();
}

function flag(answer: unknown): boolean {
  if (answer !== 0 && answer !== 1) throw notUnderstood();
  return answer === 1;
}

function listOf(answer: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(answer) || answer.length > most) throw notUnderstood();
  return answer;
}

export function notUnderstood(): BackplaneError {
  return new BackplaneError("REDIS_FAILED", "Redis answered in a form that no command of ours has");
}

import { notUnderstood } from "../connection/answers.js";

/** The fields of an announcement, by name. */
export type Fields = Readonly<Partial<Record<string, string>>>;

export interface AnsweredEntry {
  readonly id: string;
  readonly fields: Fields;
}

/**
 * The entries that XREAD answers, by stream: an array of streams, each a name and its entries, each an id and its fields: name,
 * value, name, value, ….
 *
 * @throws BackplaneError REDIS_FAILED if the answer is of another form
 */
export function readStreamAnswer(answer: unknown): readonly (readonly [string, readonly AnsweredEntry[]])[] {
  if (answer === null) return [];
  return listOf(answer).map((stream) => {
    const [name, entries] = listOf(stream);
    return [textOf(name), listOf(entries).map(readEntry)];
  });
}

function readEntry(entry: unknown): AnsweredEntry {
  const [id, values] = listOf(entry);
  const texts = listOf(values).map(textOf);
  const fields: Partial<Record<string, string>> = {};
  for (let at = 0; at + 1 < texts.length; at += 2) fields[texts[at] ?? ""] = texts[at + 1] ?? "";
  return { id: textOf(id), fields };
}

function listOf(answer: unknown): readonly unknown[] {
  if (!Array.isArray(answer)) throw notUnderstood();
  return answer;
}

function textOf(answer: unknown): string {
  if (!Buffer.isBuffer(answer)) throw notUnderstood();
  return String(answer);
}

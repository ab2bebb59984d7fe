import type { JsonValue } from "@bunting/protocol";

/** Text that is not JSON: what is wrong, and at which character. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly position: number;

  constructor(message: string, position: number, options?: ErrorOptions) {
    super(message, options);
    this.position = position;
  }
}

/**
 * JSON.parse, whose errors always say where.
 *
 * V8 names the position in some of its messages and quotes the surroundings in others; the latter kind is searched for here.
 *
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const { message } = cause as SyntaxError;
    const what = message.replace(/( in JSON)? at position \d+.*|, (\.\.\.)?".*is not valid JSON$/s, "");
    throw new JsonSyntaxError(what, positionOf(message) ?? searchPosition(text), { cause });
  }
}

function positionOf(message: string): number | undefined {
  const position = / at position (\d+)/.exec(message)?.[1];
  return position === undefined ? undefined : Number(position);
}

/** The end of the shortest beginning of the text that no continuation could make valid. */
function searchPosition(text: string): number {
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isBeginning(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

/** True if nothing is wrong with the text but that it ends. */
function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    return message.startsWith("Unexpected end") || positionOf(message) === text.length;
  }
}

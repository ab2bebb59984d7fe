/** A colour that we write, or a character that moves the cursor, or shows what follows it in another order. */
const controls =
  /(\u001b\[(?:[012]|3[1-3])m)|[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text for a terminal: `?` for control characters, which keys and messages of others may contain. Colours stay. */
export function withoutControls(text: string): string {
  return text.replace(controls, (_, colour: string | undefined) => colour ?? "?");
}

/** Text of a server for a place within a line: it can neither begin another line nor colour what follows. */
export function singleLine(text: string): string {
  return withoutControls(text.replaceAll(/[\n\u001b\u2028\u2029]/g, "?"));
}

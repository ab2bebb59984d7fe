/** A colour that we write, or a character that moves the cursor, or shows what follows it in another order. */
const controls =
  /(\u001b\[(?:[012]|3[1-3])m)|[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** What begins a line, or a sequence of control characters, colours included. */
const lineBreaks = /[\n\u001b\u2028\u2029]/g;

/**
 * Output in which control characters, which keys and messages of others may contain, are written as JSON writes them: `\u001b`. JSON stays the same
 * value. What is printed to a pipe may be shown by a terminal all the same, by a pager or from a file.
 *
 * @param keepsColours leaves those that we write.
 */
export function escapedControls(text: string, keepsColours: boolean): string {
  return text.replace(controls, (control, colour: string | undefined) =>
    colour !== undefined && keepsColours ? colour : escaped(control),
  );
}

/** Text of others for a place within a line: it can neither begin another line nor colour what follows. */
export function printableLine(text: string): string {
  return escapedControls(text.replace(lineBreaks, escaped), false);
}

function escaped(control: string): string {
  const [first = "", ...rest] = control;
  return `\\u${first.charCodeAt(0).toString(16).padStart(4, "0")}${rest.join("")}`;
}

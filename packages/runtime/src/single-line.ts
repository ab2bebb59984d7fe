/**
 * Text of a peer for a place within a line of a page or a log: a space stands for each line break, and `?` for other characters that a terminal
 * acts on, or that show what follows them in another order.
 */
export function singleLine(text: string): string {
  return text.replace(/\r?\n|[\r\u0085\u2028\u2029]/g, " ").replace(/[\p{Cc}\p{Bidi_Control}]/gu, "?");
}

/** What the library says of something that is not closed: where it looked for the end, which is at the next line or at the end of the text. */
const unclosedFlow =
  /^Flow (?:map|sequence) in block collection must be|^Expected flow (?:map|sequence) to end/;
const unclosedQuote = /^Missing closing ["']quote/;

/** The character at which people find what an error of the library is about. */
export function yamlErrorPlace(text: string, offset: number, message: string): number {
  if (unclosedFlow.test(message)) return text.slice(0, offset).trimEnd().length;
  if (unclosedQuote.test(message)) {
    const quote = text.lastIndexOf(message.includes('"') ? '"' : "'", offset - 1);
    return quote === -1 ? offset : quote;
  }
  return offset;
}

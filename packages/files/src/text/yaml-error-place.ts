/** What the library says of something that is not closed: where it looked for the end, which is at the next line or at the end of the text. */
const unclosedFlow =
  /^Flow (?:map|sequence) in block collection must be|^Expected flow (?:map|sequence) to end/;
const unclosedQuote = /^Missing closing ["']quote/;
/** What it says in words of YAML's grammar, and is mostly a line that is indented otherwise than was meant. */
const indentation = /^All mapping items must|^A block sequence may not be used as|^Nested mappings are not/;

/** What people are told of an error of the library. */
export function yamlErrorMessage(message: string): string {
  return indentation.test(message) ? `${message}: check how this line and those above are indented` : message;
}

/** The character at which people find what an error of the library is about. */
export function yamlErrorPlace(text: string, offset: number, message: string): number {
  if (unclosedFlow.test(message)) return text.slice(0, offset).trimEnd().length;
  if (unclosedQuote.test(message)) {
    const quote = text.lastIndexOf(message.includes('"') ? '"' : "'", offset - 1);
    return quote === -1 ? offset : quote;
  }
  return offset;
}

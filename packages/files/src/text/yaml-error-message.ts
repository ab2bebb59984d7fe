/** Errors that the library puts in words of YAML's grammar. Their cause is mostly a line with the wrong indentation. */
const indentation = /^All mapping items must|^A block sequence may not be used as|^Nested mappings are not/;

export function yamlErrorMessage(message: string): string {
  return indentation.test(message) ? `${message}: check how this line and those above are indented` : message;
}

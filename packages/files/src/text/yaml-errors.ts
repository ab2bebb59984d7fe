import { parseAllDocuments } from "yaml";
import { lineIndex } from "./line-index.js";
import type { TextPosition } from "./parsed-text.js";
import { yamlErrorMessage } from "./yaml-error-message.js";
import { yamlErrorPlace } from "./yaml-error-place.js";

export interface YamlError extends TextPosition {
  readonly message: string;
}

/** The library keeps each error with its stack, and takes a hundred times the size of a text. */
const maxCharacters = 256 * 1024;

/**
 * The errors of a YAML text that do not follow from others: the first of each of its documents, and all keys that are there twice. For programs that
 * check files and end; `readYaml` stops at the first. None for a text of more than 256 K characters.
 */
export function yamlErrors(text: string): readonly YamlError[] {
  if (text.length > maxCharacters) return [];
  const positionAt = lineIndex(text);
  return parseAllDocuments(text, { prettyErrors: false, stringKeys: true }).flatMap(({ errors }) =>
    errors
      .filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY")
      .map(({ message, pos: [offset] }) => ({
        ...positionAt(yamlErrorPlace(text, offset, message)),
        message: yamlErrorMessage(message),
      })),
  );
}

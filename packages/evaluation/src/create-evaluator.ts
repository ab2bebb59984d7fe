import type { JsonValue } from "@bunting/protocol";
import { Evaluator, type EvaluatorOptions } from "./evaluator.js";
import { parseDocument, type InvalidFlag } from "./parse-document.js";

/**
 * An evaluator of one flagd document, and the flags of the document that it does not serve.
 *
 * @throws FlagError DOCUMENT_INVALID if the value is not a flag document
 */
export function createEvaluator(
  document: JsonValue,
  options?: EvaluatorOptions,
): { readonly evaluator: Evaluator; readonly rejectedFlags: readonly InvalidFlag[] } {
  const { flags, rejectedFlags } = parseDocument(document);
  const evaluator = new Evaluator(options);
  evaluator.apply({ upserted: flags, removed: [] });
  return { evaluator, rejectedFlags };
}

import type { ClusterReader } from "../cluster-reader.js";
import type { OperatorResult } from "../operator-result.js";
import { explainFacts } from "./explain-facts.js";
import { explanationLines } from "./explanation-lines.js";
import { findPod } from "./find-pod.js";
import { readPodFacts } from "./read-pod-facts.js";

/** `bunting operator explain pod NAMESPACE/NAME`. */
export async function explainPod(
  words: readonly string[],
  namespace: string,
  reader: ClusterReader,
): Promise<OperatorResult> {
  const found = await findPod(words, namespace, reader);
  const explanation = explainFacts(await readPodFacts(found, reader));
  return { code: explanation.isWell ? 0 : 1, lines: explanationLines(explanation), value: explanation };
}

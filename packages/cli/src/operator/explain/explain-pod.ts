import { askSidecar } from "../ask-sidecar.js";
import type { ClusterReader } from "../cluster-reader.js";
import type { OperatorResult } from "../operator-result.js";
import { explainFacts } from "./explain-facts.js";
import { explanationLines } from "./explanation-lines.js";
import { findPod } from "./find-pod.js";
import { podAnnotations } from "../operator-names.js";
import { agentOf, sidecarState } from "../shown-pod.js";
import { readPodFacts } from "./read-pod-facts.js";

/** `bunting operator explain pod NAMESPACE/NAME`. */
export async function explainPod(
  words: readonly string[],
  namespace: string,
  reader: ClusterReader,
): Promise<OperatorResult> {
  const found = await findPod(words, namespace, reader);
  const { address, pod } = found;
  const sidecar = agentOf(pod);
  const { [podAnnotations.injected]: mark, [podAnnotations.enabled]: enabled } =
    pod.metadata?.annotations ?? {};
  const isOurs = mark !== undefined || enabled !== "true";
  const isAsked = isOurs && sidecar !== undefined && sidecarState(pod)?.isRunning === true;
  const facts = await readPodFacts(found, reader);
  const account = isAsked ? { account: await askSidecar(address, sidecar, reader) } : {};
  const explanation = explainFacts({ ...facts, ...account });
  return { code: explanation.isWell ? 0 : 1, lines: explanationLines(explanation), value: explanation };
}

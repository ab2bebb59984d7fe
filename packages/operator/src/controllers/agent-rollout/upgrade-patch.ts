import type { JsonPatch } from "@bunting/kube";
import { buntingAnnotations, sidecarName } from "../../api/names.js";
import { formatRecord } from "../../upgrade/agent-record.js";
import type { PodChange } from "../../upgrade/agent-step.js";

/**
 * The JSON patch of a change. It is made to the Pod as it was seen, or not at all: another version of it is a CONFLICT, and another container or image
 * at the place fails a test.
 */
export function upgradePatch({ pod, image, previous, record }: PodChange): JsonPatch {
  const { agent, uid, resourceVersion } = pod;
  if (agent === undefined) return [];
  const at = `/spec/${agent.list}/${agent.index}`;
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: `${at}/name`, value: sidecarName },
    { op: "test", path: `${at}/image`, value: agent.image },
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
    ...(image === agent.image ? [] : [{ op: "replace", path: `${at}/image`, value: image } as const]),
    ...(previous === undefined ? [] : [annotation(buntingAnnotations.agentPrevious, previous)]),
    annotation(buntingAnnotations.agentRollout, formatRecord(record)),
  ];
}

/** A Pod that has a sidecar has annotations. */
function annotation(name: string, value: string): JsonPatch[number] {
  return { op: "add", path: `/metadata/annotations/${name.replace("/", "~1")}`, value };
}

import type { KubeObject } from "@bunting/kube";

/** When the edit was made, in ms since the epoch, if its author set the annotation `bunting.dev/written-at`. */
export function writtenAtMs(object: KubeObject): number | undefined {
  const text = object.metadata.annotations?.["bunting.dev/written-at"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

import type { JsonObject } from "@bunting/protocol";

/** A review as the API server sends it, with what a test says otherwise. */
export function reviewOf(request: JsonObject): Buffer {
  return Buffer.from(
    JSON.stringify({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        uid: "4711",
        kind: { group: "", version: "v1", kind: "Pod" },
        operation: "CREATE",
        namespace: "shop",
        object: {},
        ...request,
      },
    }),
  );
}

/** Text as deeply nested as nothing that is meant. */
export function deepJson(levels: number): string {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

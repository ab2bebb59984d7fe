import { extensionApiVersion, type Extension, type ExtensionSpec } from "../api/extension.js";

/** An Extension of a cluster, as stored, with other values where they are given. */
export function storedExtension(name: string, spec: Partial<ExtensionSpec> = {}): Extension {
  return {
    apiVersion: extensionApiVersion,
    kind: "Extension",
    metadata: { name, uid: `uid-of-${name}`, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      hooks: ["pre-create"],
      objects: ["Sidecar"],
      timeout: "2s",
      failurePolicy: "Fail",
      priority: 0,
      ...spec,
    },
  };
}

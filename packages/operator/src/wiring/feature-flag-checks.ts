import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { maxDocumentBytes } from "./admission.js";
import type { OperatorWiring } from "./operator-parts.js";

export interface FeatureFlagCheckParts {
  readonly events: EventRecorder;
  /** The annotation `bunting.dev/validation` of a namespace. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  /** Called for each whose status spoke of agents when it was first seen; absent: nobody counts agents. */
  readonly onCounted: ((key: string) => void) | undefined;
}

/** Checks of the FeatureFlags that no webhook has seen, as the leader makes them; none if FeatureFlags are not to be checked. */
export function featureFlagChecks(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events, levelOfNamespace, onCounted }: FeatureFlagCheckParts,
): () => readonly Component[] {
  if (!options.flagsValidation) return () => [];
  const { client } = cluster;
  const rules = { maxDocumentBytes, levelOfNamespace };
  const checks = new parts.FeatureFlagStatus({ client, watches, events, rules, context }, onCounted);
  return () => [runnableComponent(checks, "looks at what was stored while no replica could be asked")];
}

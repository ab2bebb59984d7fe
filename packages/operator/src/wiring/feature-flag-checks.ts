import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { FeatureFlagListeners } from "../controllers/feature-flag-watch.js";
import { maxDocumentBytes } from "./admission.js";
import type { OperatorWiring } from "./operator-wiring.js";

export interface FeatureFlagCheckParts {
  readonly events: EventRecorder;
  /** The annotation `bunting.dev/validation` of a namespace. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  /** Calls back with each namespace of which that has changed. */
  readonly listenToLevels: (listener: (namespace: string) => void) => () => void;
  /** Further listeners to FeatureFlags: none where nobody counts agents. */
  readonly others: FeatureFlagListeners;
}

/** Checks of the FeatureFlags that no webhook has seen, as the leader makes them; none if FeatureFlags are not to be checked. */
export function featureFlagChecks(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events, levelOfNamespace, listenToLevels, others }: FeatureFlagCheckParts,
): () => readonly Component[] {
  if (!options.flagsValidation) return () => [];
  const { client } = cluster;
  const rules = { maxDocumentBytes, levelOfNamespace, listenToLevels };
  const checks = new parts.FeatureFlagStatus({ client, watches, events, rules, context }, others);
  return () => [runnableComponent(checks, "looks at what was stored while no replica could be asked")];
}

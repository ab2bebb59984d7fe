import { runnableComponent, type Component } from "@bunting/runtime";
import type { ServingCertificates } from "../certificates/serving-certificates.js";
import type { OperatorWiring } from "./operator-parts.js";

/** The certificates of the webhooks as the leader sees to them. */
export interface WebhookBundles {
  /** Makes the authority, and tells API servers of it. */
  readonly own: () => readonly Component[];
  /** Has them forget the certificates of an operator that was there before. */
  readonly alone: () => readonly Component[];
}

export function webhookBundles(
  wiring: OperatorWiring,
  { keeper, bundle }: ServingCertificates,
): WebhookBundles {
  const { options, parts, context, cluster, watches } = wiring;
  const address = { service: { namespace: options.namespace, name: options.webhookService } };
  const configurations =
    bundle === undefined
      ? undefined
      : new parts.WebhookConfigurations({
          client: cluster.client,
          watches,
          bundle,
          address,
          onApplied: (applied) => keeper?.bundleApplied(applied),
          context,
        });
  return {
    own: () => [
      ...(keeper === undefined
        ? []
        : [runnableComponent(keeper, "makes the authority that all others wait for")]),
      ...(configurations === undefined
        ? []
        : [runnableComponent(configurations, "tells API servers of the authority, which counts only then")]),
    ],
    alone: () =>
      configurations === undefined
        ? []
        : [runnableComponent(configurations.alone(), "needs them told of the authority already")],
  };
}

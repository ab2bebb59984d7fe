import { runnableComponent, type Component } from "@bunting/runtime";
import { ownWebhookConfigurationNames } from "../api/webhooks.js";
import { callSource } from "../certificates/call-source.js";
import type { SecretWatch } from "../certificates/secret-watch.js";
import type { ServingCertificates } from "../certificates/serving-certificates.js";
import { webhookKeySecret } from "../certificates/webhook-key-secret.js";
import type { WebhookKey } from "../certificates/webhook-keys.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** What lets API servers call the webhooks, and nobody else. */
export interface WebhookCalls {
  /** The keys of the paths, on each replica. */
  readonly keys: SecretWatch<WebhookKey>;
  /** Makes the authority and the keys, and tells API servers of both; runs on the leader. */
  readonly own: () => readonly Component[];
  /** Has them forget the certificates of an operator that was there before; runs on the leader. */
  readonly alone: () => readonly Component[];
  /** To be called when another operator is seen: it answers webhooks at plain paths, and so do we, until it is gone. */
  readonly otherSeen: () => void;
}

export function webhookCalls(wiring: OperatorWiring, { keeper, bundle }: ServingCertificates): WebhookCalls {
  const { options, parts, context, cluster, watches, served } = wiring;
  const { namespace, webhookService: name } = options;
  const { client } = cluster;
  const keys = new parts.SecretWatch(webhookKeySecret, { watches, namespace, context });
  const keyKeeper = new parts.WebhookKeyKeeper({ client, namespace, context });
  keys.onChange(() => keyKeeper.look());
  const configurations = new parts.WebhookConfigurations(
    {
      client,
      watches,
      source: callSource(bundle, keys),
      address: { service: { namespace, name } },
      onApplied: (call) => {
        keyKeeper.keyApplied(call.key);
        if (call.bundle !== undefined) keeper?.bundleApplied(call.bundle);
      },
      context,
    },
    served === undefined ? undefined : ownWebhookConfigurationNames(namespace),
  );
  return {
    keys,
    own: () => [
      ...(keeper === undefined
        ? []
        : [runnableComponent(keeper, "makes the authority that all others wait for")]),
      runnableComponent(keyKeeper, "makes the keys without which no webhook is answered"),
      runnableComponent(
        configurations,
        "tells API servers of the authority and the keys, which count only then",
      ),
    ],
    alone: () => {
      const alone = configurations.alone();
      const run = (signal: AbortSignal): Promise<void> => {
        keyKeeper.otherAnswers("gone");
        return alone.run(signal);
      };
      return [runnableComponent({ name: alone.name, run }, "needs them told of the authority already")];
    },
    otherSeen: () => keyKeeper.otherAnswers("there"),
  };
}

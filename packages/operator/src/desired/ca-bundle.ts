import type { DesiredObject } from "./desired-object.js";
import type { WebhookAddress } from "./webhook-configurations.js";

/** A configuration of webhooks as the API server has it, with the fields that are read. */
export interface LiveWebhooks {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly webhooks?: readonly LiveWebhook[];
}

interface LiveWebhook {
  readonly name: string;
  readonly clientConfig: {
    readonly url?: string;
    readonly caBundle?: string;
    readonly service?: { readonly namespace: string; readonly name: string };
  };
}

/** By these, cert-manager is asked to put its own bundle in: it would put ours out again for ever. */
const injectorAnnotations = [
  "cert-manager.io/inject-ca-from",
  "cert-manager.io/inject-ca-from-secret",
  "cert-manager.io/inject-apiserver-ca",
];

/**
 * What is applied to a configuration so that its webhooks are verified by these certificates: the bundles of those that call us, and nothing else.
 * An apply takes back what it leaves out, so it always has all of them.
 *
 * - `current`: there is nothing to write.
 * - `injected`: cert-manager is asked to fill it.
 */
export function caBundleOf(
  kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
  { metadata, webhooks = [] }: LiveWebhooks,
  bundle: string,
  address: WebhookAddress,
): DesiredObject | "current" | "injected" {
  const { name, annotations = {} } = metadata;
  if (injectorAnnotations.some((each) => Object.hasOwn(annotations, each))) return "injected";
  const caBundle = Buffer.from(bundle).toString("base64");
  const ours = webhooks.filter(({ clientConfig }) => calls(clientConfig, address));
  if (ours.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return "current";
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
    webhooks: ours.map((webhook) => ({ name: webhook.name, clientConfig: { caBundle } })),
  };
}

function calls({ url, service }: LiveWebhook["clientConfig"], address: WebhookAddress): boolean {
  if ("url" in address) return url?.startsWith(`${address.url}/`) === true;
  return service?.namespace === address.service.namespace && service.name === address.service.name;
}

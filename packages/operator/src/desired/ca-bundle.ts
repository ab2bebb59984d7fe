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

/** What becomes of certificates of others in the bundles. `kept`: their Pods answer the same Service, and are verified as well. */
export type OtherCertificates = "kept" | "replaced";

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
  others: OtherCertificates = "replaced",
): DesiredObject | "current" | "injected" {
  const { name, annotations = {} } = metadata;
  if (injectorAnnotations.some((each) => Object.hasOwn(annotations, each))) return "injected";
  const ours = webhooks
    .filter(({ clientConfig }) => calls(clientConfig, address))
    .map(({ name: webhook, clientConfig: { caBundle = "" } }) => ({
      name: webhook,
      live: caBundle,
      caBundle: toBase64(others === "kept" ? bundle + certificatesBeside(bundle, caBundle) : bundle),
    }));
  if (ours.every(({ live, caBundle }) => live === caBundle)) return "current";
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
    webhooks: ours.map((webhook) => ({ name: webhook.name, clientConfig: { caBundle: webhook.caBundle } })),
  };
}

function toBase64(pem: string): string {
  return Buffer.from(pem).toString("base64");
}

/** The certificates of a bundle, as the API server has it, that are not among ours. */
function certificatesBeside(bundle: string, live: string): string {
  const text = Buffer.from(live, "base64").toString("latin1");
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return [...new Set(found)]
    .filter((each) => !bundle.includes(each))
    .map((each) => `${each}\n`)
    .join("");
}

function calls({ url, service }: LiveWebhook["clientConfig"], address: WebhookAddress): boolean {
  if ("url" in address) return url?.startsWith(`${address.url}/`) === true;
  return service?.namespace === address.service.namespace && service.name === address.service.name;
}

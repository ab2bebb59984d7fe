import { pathOfWebhook, secretPath } from "../api/webhooks.js";
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
  readonly clientConfig: ClientConfig;
}

interface ClientConfig {
  readonly url?: string;
  readonly caBundle?: string;
  readonly service?: { readonly namespace: string; readonly name: string; readonly path?: string };
}

/** What API servers have to know to call our webhooks. */
export interface WebhookCall {
  /** Certificates to verify us by, in PEM. Absent: somebody else puts them in. */
  readonly bundle?: string;
  /** The key of the paths. */
  readonly key: string;
}

/** By these, cert-manager is asked to put its own bundle in: it would put ours out again for ever. */
const injectorAnnotations = [
  "cert-manager.io/inject-ca-from",
  "cert-manager.io/inject-ca-from-secret",
  "cert-manager.io/inject-apiserver-ca",
];

/** What becomes of certificates of others in the bundles. `kept`: their Pods answer the same Service, and are verified as well. */
export type OtherCertificates = "kept" | "replaced";

/** True if cert-manager is asked to fill in the bundle. */
export function isFilledByOthers({ metadata: { annotations = {} } }: LiveWebhooks): boolean {
  return injectorAnnotations.some((each) => Object.hasOwn(annotations, each));
}

/**
 * What is applied to a configuration so that API servers call our webhooks: their paths, the bundle unless others fill it in, and nothing else.
 * An apply takes back what it leaves out, so it always has all of them. `current`: there is nothing to write.
 */
export function webhookCallsOf(
  kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
  live: LiveWebhooks,
  { bundle, key }: WebhookCall,
  address: WebhookAddress,
  others: OtherCertificates = "replaced",
): DesiredObject | "current" {
  const isOurs = bundle !== undefined && !isFilledByOthers(live);
  const bundleFor = (given: string): Pick<ClientConfig, "caBundle"> => {
    if (!isOurs) return {};
    return { caBundle: toBase64(others === "kept" ? bundle + certificatesBeside(bundle, given) : bundle) };
  };
  const wanted = (live.webhooks ?? []).flatMap(({ name, clientConfig }) => {
    const path = pathOfWebhook.get(name);
    if (path === undefined || !calls(clientConfig, address)) return [];
    const secret = secretPath(path, key);
    const where = "url" in address ? { url: `${address.url}${secret}` } : { service: { path: secret } };
    return [
      { name, clientConfig: { ...where, ...bundleFor(clientConfig.caBundle ?? "") }, live: clientConfig },
    ];
  });
  if (wanted.every((each) => isSame(each.clientConfig, each.live))) return "current";
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name: live.metadata.name },
    webhooks: wanted.map(({ name, clientConfig }) => ({ name, clientConfig })),
  };
}

type Wanted = Pick<ClientConfig, "url" | "caBundle"> & { readonly service?: { readonly path: string } };

function isSame({ url, service, caBundle }: Wanted, live: ClientConfig): boolean {
  if (caBundle !== undefined && caBundle !== live.caBundle) return false;
  return url === undefined ? service?.path === live.service?.path : url === live.url;
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

function calls({ url, service }: ClientConfig, address: WebhookAddress): boolean {
  if ("url" in address) return url === address.url || url?.startsWith(`${address.url}/`) === true;
  return service?.namespace === address.service.namespace && service.name === address.service.name;
}

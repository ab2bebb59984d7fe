import {
  ownWebhookConfigurationNames,
  webhookConfigurationNames,
} from "@bunting/operator/internal/api/webhooks.js";
import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import { eventually } from "../../support/event-queue.js";
import type { Cluster } from "./cluster.js";

interface Webhooks {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

/**
 * Has the API server call the webhooks of an operator at this port of localhost, which it finds by an ExternalName: there are no Services that route. Resolves
 * once the operator has told the API server of its authority.
 *
 * @param namespace the operator's own
 * @param serves the namespaces that it serves; undefined: all
 */
export async function registerWebhooks(
  cluster: Cluster,
  namespace: string,
  port: number,
  serves?: readonly string[],
): Promise<void> {
  const service = { namespace, name: "open-feature-operator-webhook-service" };
  await cluster.api.apply(`/api/v1/namespaces/${namespace}/services/${service.name}`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: service,
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  const settings = { namespace, address: { service }, validatesFlags: true };
  const configurations = webhookConfigurations(serves === undefined ? settings : { ...settings, serves });
  for (const object of configurations) {
    const path = webhookPath(object.kind, object.metadata.name);
    const text = JSON.stringify(object).replaceAll('"port":443', `"port":${port}`);
    await cluster.api.apply(path, JSON.parse(text));
    await eventually(async () => {
      const { webhooks } = (await cluster.api.get(path)) as unknown as Webhooks;
      return webhooks.every(({ clientConfig }) => clientConfig.caBundle !== undefined);
    }, "the operator tells the API server of its authority");
  }
}

function webhookPath(kind: string, name: string): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s/${name}`;
}

/** Has the API server call none of the webhooks any more that were registered so. */
export async function unregisterWebhooks(
  cluster: Cluster,
  namespace: string,
  serves?: readonly string[],
): Promise<void> {
  const { mutating, validating } =
    serves === undefined ? webhookConfigurationNames : ownWebhookConfigurationNames(namespace);
  await cluster.api.delete(webhookPath("MutatingWebhookConfiguration", mutating));
  await cluster.api.delete(webhookPath("ValidatingWebhookConfiguration", validating));
}

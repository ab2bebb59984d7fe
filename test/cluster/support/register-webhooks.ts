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
 */
export async function registerWebhooks(cluster: Cluster, namespace: string, port: number): Promise<void> {
  const service = { namespace, name: "open-feature-operator-webhook-service" };
  await cluster.api.apply(`/api/v1/namespaces/${namespace}/services/${service.name}`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: service,
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  for (const object of webhookConfigurations({ namespace, address: { service }, validatesFlags: true })) {
    const path = `/apis/admissionregistration.k8s.io/v1/${object.kind.toLowerCase()}s/${object.metadata.name}`;
    const text = JSON.stringify(object).replaceAll('"port":443', `"port":${port}`);
    await cluster.api.apply(path, JSON.parse(text));
    await eventually(async () => {
      const { webhooks } = (await cluster.api.get(path)) as unknown as Webhooks;
      return webhooks.every(({ clientConfig }) => clientConfig.caBundle !== undefined);
    }, "the operator tells the API server of its authority");
  }
}

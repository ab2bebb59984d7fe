import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { inParallel } from "@bunting/test/cluster/support/in-parallel.js";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";

export interface Filling {
  readonly pods: number;
  readonly flags: number;
  readonly sources: number;
}

const core = "/apis/core.openfeature.dev/v1beta1/namespaces";
const documentBytes = 10_000;

/** The FeatureFlagSource of this number. */
export const sourceName = (index: number): string => `source-${index}`;

/** Writes FeatureFlags of 10 KB, FeatureFlagSources that name one each, and Pods that have their sidecar from the policy already. */
export async function fillNamespace(cluster: Cluster, namespace: string, filling: Filling): Promise<void> {
  const spec = sequencedDocument({ sequence: firstSequence, bytes: documentBytes });
  await inParallel(numbers(filling.flags), (index) =>
    cluster.putFeatureFlag(namespace, flagName(index), spec),
  );
  await inParallel(numbers(filling.sources), (index) => putSource(cluster, namespace, index));
  await inParallel(numbers(filling.pods), (index) =>
    cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: {
        name: `app-${index}`,
        annotations: {
          ...askingFor(sourceName(index % filling.sources)),
          "bunting.dev/injected": "policy 0123456789abcdef",
        },
      },
      spec: podSpec,
    }),
  );
}

export async function putSource(cluster: Cluster, namespace: string, index: number): Promise<void> {
  const name = sourceName(index);
  await cluster.api.apply(`${core}/${namespace}/featureflagsources/${name}`, {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlagSource",
    metadata: { name, namespace },
    spec: { sources: [{ source: flagName(index), provider: "flagd-proxy" }] },
  });
}

/** Waits until the operator has written the status of each FeatureFlag; five are written in a second. */
export async function untilChecked(cluster: Cluster, namespace: string): Promise<void> {
  for (;;) {
    const { items } = await cluster.listFeatureFlags(namespace);
    if (items.every(({ status }) => JSON.stringify(status ?? {}).includes("Accepted"))) return;
    await delay(2_000);
  }
}

export const podSpec = { containers: [{ name: "app", image: "registry.example/app" }] };

/** The annotations of a Pod that asks for the flags of a source. */
export function askingFor(source: string): Readonly<Record<string, string>> {
  return { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": source };
}

const flagName = (index: number): string => `flag-${index}`;

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

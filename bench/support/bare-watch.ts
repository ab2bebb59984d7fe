import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Http2Transport, kubeconfigConfig, RestClient } from "@bunting/kube";

/**
 * Watches one FeatureFlag without the proxy, and reports the number of each version (`sequencedDocument`) as its event arrives: what of a
 * time belongs to the API server and not to the proxy.
 */
export async function openBareWatch(input: {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly onSequence: (sequence: number) => void;
}): Promise<Readable> {
  const { kubeconfig, namespace, name, signal, onSequence } = input;
  const type = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };
  const client = new RestClient(new Http2Transport(await kubeconfigConfig({ path: kubeconfig })));
  const body = await client.watch({ type, namespace, name }, { allowWatchBookmarks: true }, signal);
  createInterface(body).on("line", (line) => {
    const { object } = JSON.parse(line) as { object: { spec?: { flagSpec: unknown } } };
    if (object.spec === undefined) return;
    const { flags } = object.spec.flagSpec as { flags: Record<string, { variants: { at?: number } }> };
    onSequence(flags["0-bench-sequence"]?.variants.at ?? -1);
  });
  return body;
}

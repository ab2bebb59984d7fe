import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { ask } from "./cluster-api.js";

const [durationMs, renewDeadlineMs, retryMs] = [15_000, 10_000, 2_000];

/**
 * Leads as client-go does with the defaults of controller-runtime: a Lease of somebody else is waited for as long as it lasts, from when it was first seen; it is
 * never released; and who can't renew it ends.
 */
export async function leadWithLease(collection: string, name: string, lead: () => void): Promise<void> {
  const holderIdentity = `${hostname()}_${randomUUID()}`;
  let seen = { version: "", atMs: Date.now() };
  let renewedMs: number | undefined;
  for (;;) {
    try {
      const lease = await ask("GET", `${collection}/${name}`);
      const version = lease?.metadata.resourceVersion ?? "";
      if (version !== seen.version) seen = { version, atMs: Date.now() };
      const isOurs = lease?.spec?.["holderIdentity"] === holderIdentity;
      if (lease === undefined || isOurs || Date.now() - seen.atMs >= durationMs) {
        const renewTime = new Date().toISOString().replace("Z", "000Z");
        const spec = { holderIdentity, leaseDurationSeconds: durationMs / 1_000, renewTime };
        if (lease === undefined) await ask("POST", collection, leaseOf(name, spec));
        else await ask("PUT", `${collection}/${name}`, leaseOf(name, spec, version));
        if (renewedMs === undefined) lead();
        renewedMs = Date.now();
      }
    } catch (error) {
      console.log(String(error));
    }
    if (renewedMs !== undefined && Date.now() - renewedMs > renewDeadlineMs)
      throw new Error("leader election lost");
    await delay(retryMs);
  }
}

function leaseOf(name: string, spec: object, resourceVersion?: string): object {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, resourceVersion }, spec };
}

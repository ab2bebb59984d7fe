import type { KubeObject, ResourceType } from "../rest/resource.js";

export const leaseType: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

/** What a Lease says of its holder, with the names of the API. */
export interface LeaseSpec {
  /** Absent or empty: nobody holds it. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** When the holder took it. RFC 3339 with microseconds, by the holder's clock. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often the holder has changed. */
  readonly leaseTransitions?: number;
}

export interface LeaseObject extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** A time as the API server's MicroTime: RFC 3339 with microseconds. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

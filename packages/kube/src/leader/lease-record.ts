import type { KubeObject, ResourceType } from "../rest/resource.js";

export const leaseType: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

/** The spec of a Lease, with the names of the API. */
export interface LeaseSpec {
  /** Absent or empty: the lease has no holder. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** Time at which the holder acquired it. RFC 3339 with microseconds, by the holder's clock. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** Number of changes of the holder. */
  readonly leaseTransitions?: number;
}

export interface LeaseObject extends KubeObject {
  readonly spec?: LeaseSpec;
}

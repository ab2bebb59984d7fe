/** The Lease by which replicas of the operator elect their leader. */
export const leaseName = "bunting-operator";

/** The Lease of the open-feature-operator. */
export const otherLeaseName = "131bf64c.openfeature.dev";

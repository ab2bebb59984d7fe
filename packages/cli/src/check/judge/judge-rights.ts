import type { CheckFinding } from "../finding-codes.js";

/** Verbs of a resource that somebody needs, and which of them he lacks. */
export interface AskedRight {
  /** `you`, or `ServiceAccount shop/proxy`. */
  readonly subject: string;
  /** As RBAC writes it: `deployments.apps`. */
  readonly resource: string;
  /** Absent: in the whole cluster. */
  readonly namespace?: string;
  readonly lacking: readonly string[];
  /** The task that needs the right. */
  readonly why: string;
}

const ofChart = "apply the roles of the chart again (docs/reference/operator-permissions.md)";
export const ofStockChart =
  "upgrade the release of the open-feature-operator: its chart binds the ClusterRole open-feature-operator-flagd-kubernetes-sync";

/** @param remedy where a ServiceAccount lacks a right */
export function judgeRights(rights: readonly AskedRight[], remedy = ofChart): readonly CheckFinding[] {
  return rights
    .filter(({ lacking }) => lacking.length > 0)
    .map(({ subject, resource, namespace, lacking, why }) => ({
      code: "right-missing",
      where: namespace === undefined ? subject : `${subject} in ${namespace}`,
      what: `${lacking.join(", ")} of ${resource} is not allowed (${why})`,
      todo: subject === "you" ? "install with a user who may, such as a cluster-admin" : remedy,
    }));
}

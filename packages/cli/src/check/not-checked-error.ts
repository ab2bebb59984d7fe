import type { ClusterAnswer } from "../operator/cluster-reader.js";

/** A part of the cluster that its user may not read. */
export class NotCheckedError extends Error {
  readonly where: string;

  constructor(where: string, message: string) {
    super(message);
    this.where = where;
  }
}

/**
 * The object or objects that were found; `none` if the API server has no such type.
 *
 * @throws NotCheckedError
 */
export function foundOr<Found>(answer: ClusterAnswer<Found>, where: string, none: Found): Found {
  if (answer.kind === "unreadable") throw new NotCheckedError(where, answer.message);
  return answer.kind === "found" ? answer.found : none;
}

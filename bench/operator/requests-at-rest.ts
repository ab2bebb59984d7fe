import { setTimeout as delay } from "node:timers/promises";
import { AuditLog } from "@bunting/test/cluster/support/audit-log.js";

export interface RequestsAtRest {
  readonly perSecond: number;
  /** How many of each kind, the most frequent first. */
  readonly kinds: readonly (readonly [what: string, requests: number])[];
}

/**
 * Counts a user's requests over a time in which nothing is asked of it.
 *
 * @param file the audit log of the API server
 */
export async function requestsAtRest(file: string, user: string, seconds: number): Promise<RequestsAtRest> {
  const log = new AuditLog(file);
  const before = log.requests(user).length;
  await delay(seconds * 1_000);
  const requests = log.requests(user).slice(before);
  const kinds = new Map<string, number>();
  for (const { verb, uri } of requests) {
    const what = `${verb} ${uri.split("?", 1).join()}`;
    kinds.set(what, (kinds.get(what) ?? 0) + 1);
  }
  return {
    perSecond: requests.length / seconds,
    kinds: [...kinds].sort(([, a], [, b]) => b - a),
  };
}

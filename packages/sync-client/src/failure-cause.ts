import type { StaleCause } from "./bunting-messages.js";

/** Of the reasons of failures; all others mean that the source can't be reached. */
const causes: Readonly<Partial<Record<string, StaleCause>>> = {
  // Statuses of gRPC and HTTP, codes of the API server, and credentials that can't be had.
  unauthenticated: "refused",
  permission_denied: "refused",
  unauthorized: "refused",
  forbidden: "refused",
  token: "refused",
  oauth: "refused",
  access_token: "refused",
  credentials: "refused",
  unreadable: "refused",
  // A selector, an address, a provider or a path of something else.
  invalid_argument: "misconfigured",
  unimplemented: "misconfigured",
  not_grpc: "misconfigured",
  not_found: "misconfigured",
  certificate: "misconfigured",
  config_invalid: "misconfigured",
  missing: "misconfigured",
  redirect: "misconfigured",
  unsupported: "misconfigured",
  host_refused: "misconfigured",
  address_refused: "misconfigured",
  // Documents, or messages with them.
  malformed: "invalid",
  too_large: "invalid",
  empty: "invalid",
  encoding: "invalid",
  refused: "invalid",
};

/** What kind of thing is wrong if something failed for this reason; the name of a status counts whatever its case. */
export function causeOf(reason: string): StaleCause {
  return causes[reason.toLowerCase()] ?? "unreachable";
}

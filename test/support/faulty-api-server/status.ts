import { group, plural } from "./flag-object.js";

/** A Status object, as the API server words it. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: "Failure";
  readonly message: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code: number;
}

export function status(code: number, reason: string, message: string, details?: unknown): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

export const unauthorized = (): Status => status(401, "Unauthorized", "Unauthorized");

export const badRequest = (message: string): Status => status(400, "BadRequest", message);

export const internalError = (message: string): Status =>
  status(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });

export const tooManyRequests = (retryAfterSeconds = 1): Status =>
  status(429, "TooManyRequests", "storage is (re)initializing", { retryAfterSeconds });

export const watchExpired = (revision: number, oldest: number): Status =>
  status(410, "Expired", `too old resource version: ${revision} (${oldest})`);

/** A list that can't be continued; the token it offers continues with the newest state. */
export function continueExpired(inconsistentToken: string): Status {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the " +
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results.";
  return { ...status(410, "Expired", message), metadata: { continue: inconsistentToken } };
}

export const listExpired = (): Status =>
  status(410, "Expired", "The resourceVersion for the provided list is too old.");

export function revisionTooLarge(wanted: number, current: number): Status {
  return status(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

export function watchListDisabled(): Status {
  const message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
  return invalidListOptions("sendInitialEvents", "FieldValueForbidden", `Forbidden: ${message}`);
}

export function invalidListOptions(field: string, reason: string, message: string): Status {
  return status(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    group: "meta.k8s.io",
    kind: "ListOptions",
    causes: [{ reason, message, field }],
  });
}

/** How a WatchList fails on etcd before 3.4.31: within the stream. */
export const watchListUnsupported = (): Status =>
  status(
    500,
    "InternalError",
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled",
  );

export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export function forbidden(user: string, access: Access): Status {
  const where =
    access.namespace === undefined ? "at the cluster scope" : `in the namespace "${access.namespace}"`;
  const what = `${plural}.${group}${access.name === undefined ? "" : ` "${access.name}"`}`;
  const details = { group, kind: plural, ...(access.name === undefined ? {} : { name: access.name }) };
  const reason = `User "${user}" cannot ${access.verb} resource "${plural}" in API group "${group}" ${where}`;
  return status(403, "Forbidden", `${what} is forbidden: ${reason}`, details);
}

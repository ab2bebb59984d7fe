import { accessOf } from "./access-control.js";
import { faults, type Fault } from "./fault-script.js";
import { forbidden, internalError, tooManyRequests } from "./status.js";

export type NotReadyStatus = 429 | 403 | 500 | 503;

/** The answers of a server that has just started: caches not filled (429), RBAC not read (403), or not ready at all. */
export function notReady(code: NotReadyStatus, retryAfterS: number): Fault {
  return (exchange, request) => {
    const user = "system:serviceaccount:test:proxy";
    const fault = {
      429: faults.answer(429, tooManyRequests(retryAfterS), { "retry-after": String(retryAfterS) }),
      403: faults.answer(403, forbidden(user, accessOf(request))),
      500: faults.answer(500, internalError("apiserver not ready")),
      503: faults.answer(503, "apiserver not ready\n"),
    }[code];
    return fault(exchange, request);
  };
}

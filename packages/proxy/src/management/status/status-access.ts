import type { IncomingMessage } from "node:http";
import { outsideReason } from "@bunting/server";

/** Clients that may see the status: those of the same machine or pod (also by `kubectl port-forward`), all, or none. */
export type StatusAudience = "loopback" | "all" | "off";

export type StatusAccess =
  | { readonly isGranted: false; readonly refusal: string }
  | {
      readonly isGranted: true;
      /** False if the caller must present an identity to see the subscribers' ones. */
      readonly isLocal: boolean;
    };

/** Access to the status, as far as the connection decides it. */
export function statusAccess(request: IncomingMessage, audience: StatusAudience): StatusAccess {
  if (audience === "off")
    return refused("The status is off: start the proxy with --status=loopback or --status=all");
  const reason = outsideReason(request);
  if (reason === undefined || audience === "all") return { isGranted: true, isLocal: reason === undefined };
  return refused(`${reason}: use kubectl port-forward, or start the proxy with --status=all`);
}

function refused(refusal: string): StatusAccess {
  return { isGranted: false, refusal };
}

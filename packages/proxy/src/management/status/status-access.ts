import type { IncomingMessage } from "node:http";

/** Clients that may see the status: those of the same machine or pod (also by `kubectl port-forward`), all, or none. */
export type StatusAudience = "loopback" | "all" | "off";

/** The part of the status that a caller may see. */
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
  const reason = forwardedReason(request);
  if (reason === undefined || audience === "all") return { isGranted: true, isLocal: reason === undefined };
  return refused(`${reason}: use kubectl port-forward, or start the proxy with --status=all`);
}

function refused(refusal: string): StatusAccess {
  return { isGranted: false, refusal };
}

/**
 * Why a request may come from outside of the Pod. The sidecar of a service mesh forwards the requests of other Pods over loopback, so an address alone proves
 * nothing: `kubectl port-forward` connects from loopback to loopback, asks for localhost, and adds no header.
 */
function forwardedReason({
  socket,
  headers,
}: Pick<IncomingMessage, "socket" | "headers">): string | undefined {
  if (!isLoopback(socket.remoteAddress) || !isLoopback(socket.localAddress))
    return "The status is shown on loopback only";
  const added = Object.keys(headers).find((name) => proxyHeader.test(name));
  if (added !== undefined) return `The status is not shown through a proxy, such as one that adds ${added}`;
  if (!localHost.test(headers.host ?? ""))
    return "The status is shown to requests for localhost or a loopback address only";
  return undefined;
}

/** The addresses from which Istio forwards. */
const istio = /^(127\.0\.0\.6|::6)$/;

function isLoopback(address = ""): boolean {
  const plain = address.replace(/^::ffff:/, "");
  return (plain === "::1" || plain.startsWith("127.")) && !istio.test(plain);
}

/** Headers that Envoy, Linkerd and other proxies add, and clients do not. */
const proxyHeader = /^(?:forwarded|via|x-real-ip|x-request-id|x-forwarded-.*|x-envoy-.*|x-b3-.*|l5d-.*)$/;
const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

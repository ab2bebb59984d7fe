import type { IncomingMessage } from "node:http";

/**
 * Why a request may come from outside of the Pod. The sidecar of a service mesh forwards the requests of other Pods over loopback, so an address alone proves
 * nothing: `kubectl port-forward` connects from loopback to loopback, asks for localhost, and adds no header.
 */
export function outsideReason({
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

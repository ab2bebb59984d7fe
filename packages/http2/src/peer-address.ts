import type { Socket } from "node:net";

const mappedIPv4 = "::ffff:";

/** The IP address at the other end, an IPv4 one without its IPv6 mapping; "unix" on a unix socket, or if the peer has already left. */
export function peerAddress(socket: Socket): string {
  const address = socket.remoteAddress;
  if (address === undefined) return "unix";
  return address.startsWith(mappedIPv4) ? address.slice(mappedIPv4.length) : address;
}

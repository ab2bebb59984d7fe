/** True for loopback and unix sockets: the connections of many clients may come from there. Istio forwards from 127.0.0.6, and over IPv6 from ::6. */
export function isLocal(address: string): boolean {
  return address === "unix" || address === "::1" || address === "::6" || address.startsWith("127.");
}

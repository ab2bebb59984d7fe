/** True for loopback and unix sockets: the connections of many clients may come from there. */
export function isLocal(address: string): boolean {
  return address === "unix" || address === "::1" || address.startsWith("127.");
}

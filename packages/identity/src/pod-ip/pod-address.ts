import { isIP } from "node:net";

/** IPv4-mapped IPv6, as the URL parser writes it. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * The address of a peer as Kubernetes writes it in `status.podIP`; undefined for what no Pod network has: unix sockets, loopback, and
 * link-local addresses. An IPv4 client of a port that listens on IPv6 has a mapped address.
 */
export function podAddress(remoteAddress: string): string | undefined {
  const address = canonicalAddress(remoteAddress);
  if (address === undefined) return undefined;
  if (isIP(address) === 4)
    return address.startsWith("127.") || address.startsWith("169.254.") ? undefined : address;
  // From ::6, Istio forwards the calls of others.
  return address === "::1" || address === "::6" || /^fe[89ab]/.test(address) ? undefined : address;
}

/** One way to write each address: RFC 5952, and IPv4 for what is mapped to IPv6. Undefined for what is no address, or has a zone. */
export function canonicalAddress(address: string): string | undefined {
  const family = isIP(address);
  if (family === 4) return address;
  if (family !== 6 || address.includes("%")) return undefined;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = mapped.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join(".");
}

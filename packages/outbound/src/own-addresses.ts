import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { parseNetwork, type Network } from "./network.js";

/** Within 2000::/3. */
const publicV6 = /^[23][\da-f]{3}:/i;
/** Of a VPC of AWS, whose Pods all have public addresses. */
const vpcBits = 56;

/**
 * Addresses that are this process's own, and the API server's, and of public IPv6 those beside them: where a cluster gives Pods or Services public addresses,
 * nothing else tells these from addresses of the Internet.
 *
 * @param env as a kubelet sets it
 */
export function ownAddresses(
  env: Readonly<Record<string, string | undefined>>,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): readonly Network[] {
  const own = Object.values(interfaces).flatMap((each) => (each ?? []).map(({ address }) => address));
  const all = [...own, env["KUBERNETES_SERVICE_HOST"] ?? ""].map((address) => address.split("%", 1).join());
  return [...new Set(all)]
    .filter((address) => isIP(address) !== 0)
    .map((address) => parseNetwork(publicV6.test(address) ? `${address}/${vpcBits}` : address));
}

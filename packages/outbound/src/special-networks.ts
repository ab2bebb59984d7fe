import { embeddedV4 } from "./ip-address.js";
import { hasAddress, parseNetwork, type Network } from "./network.js";

/** A network whose addresses are not those of the public Internet. */
interface SpecialNetwork {
  readonly what: string;
  readonly network: Network;
}

function special(what: string, ...networks: readonly string[]): readonly SpecialNetwork[] {
  return networks.map((text) => ({ what, network: parseNetwork(text) }));
}

/** Nothing that flags come from is there: they can't be listed. */
const never: readonly SpecialNetwork[] = [
  ...special(
    "of a cloud's metadata service",
    ...["169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16"],
    ...["192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"],
  ),
  ...special("unspecified", "0.0.0.0/8", "::"),
  ...special("multicast", "224.0.0.0/4", "ff00::/8"),
  ...special("broadcast", "255.255.255.255"),
];

/** May be listed for a host: the registries of special addresses of IANA, and what is private. */
const unlessListed: readonly SpecialNetwork[] = [
  ...special("loopback", "127.0.0.0/8", "::1"),
  ...special("link-local", "169.254.0.0/16", "fe80::/10"),
  ...special("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
  ...special("shared by a carrier", "100.64.0.0/10"),
  ...special(
    "reserved",
    ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"],
    ...["203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20"],
  ),
];

/** Public addresses of IPv6. */
const globalV6 = parseNetwork("2000::/3");

/** What an address is, if nobody may call it. */
export function neverCalled(address: Uint8Array): string | undefined {
  return whatOf(address, never);
}

/** What an address is, if it may be called only where it is listed; undefined if it is public. */
export function calledIfListed(address: Uint8Array): string | undefined {
  const what = whatOf(address, unlessListed);
  if (what !== undefined || address.length === 4 || embeddedV4(address) !== undefined) return what;
  return hasAddress(address, globalV6) ? undefined : "reserved";
}

/** Of the address itself, or of the one of IPv4 that it leads to. */
function whatOf(address: Uint8Array, networks: readonly SpecialNetwork[]): string | undefined {
  const inner = embeddedV4(address);
  return networks.find(
    ({ network }) => hasAddress(address, network) || (inner !== undefined && hasAddress(inner, network)),
  )?.what;
}

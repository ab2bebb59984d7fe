import { isIP } from "node:net";

/** The 4 or 16 bytes of an address as text, without its zone; undefined if it is none. */
export function addressBytes(text: string): Uint8Array | undefined {
  const [address = ""] = text.split("%", 1);
  switch (isIP(address)) {
    case 4:
      return Uint8Array.from(address.split("."), Number);
    case 6:
      return bytesOfV6(address);
    default:
      return undefined;
  }
}

function bytesOfV6(text: string): Uint8Array {
  // The URL writes an IPv4 address at the end as two groups, too.
  const written = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [before = "", after] = written.split("::");
  const head = groupsOf(before);
  const tail = groupsOf(after ?? "");
  const zeros = new Array<number>(8 - head.length - tail.length).fill(0);
  return Uint8Array.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]));
}

function groupsOf(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** Where an IPv6 address of this beginning has the IPv4 address that it leads to. */
const embeddings: readonly { readonly start: readonly number[]; readonly at: number }[] = [
  // ::a.b.c.d, which is deprecated, ::ffff:a.b.c.d and ::ffff:0:a.b.c.d.
  { start: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { start: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], at: 12 },
  { start: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], at: 12 },
  // NAT64 with the well-known prefix, and 6to4.
  { start: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { start: [0x20, 0x02], at: 2 },
];

/** The IPv4 address within an IPv6 address; undefined if there is none. `::` and `::1` are themselves. */
export function embeddedV4(address: Uint8Array): Uint8Array | undefined {
  if (address.length !== 16) return undefined;
  // Below 1.0.0.0 it is no address of IPv4.
  if (address.subarray(0, 13).every((byte) => byte === 0)) return undefined;
  const found = embeddings.find(({ start }) => start.every((byte, index) => address[index] === byte));
  if (found !== undefined) return address.subarray(found.at, found.at + 4);
  // ISATAP, under any prefix.
  const [kind = 0, zero, five, fe] = address.subarray(8, 12);
  const isIsatap = (kind & 0xfd) === 0 && zero === 0 && five === 0x5e && fe === 0xfe;
  return isIsatap ? address.subarray(12, 16) : undefined;
}

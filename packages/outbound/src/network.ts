import { quoted } from "@bunting/runtime";
import { addressBytes } from "./ip-address.js";

/** A range of addresses. */
export interface Network {
  readonly bytes: Uint8Array;
  /** How many of the first bits of an address are those of the network. */
  readonly bits: number;
}

/**
 * Reads a network such as `10.0.0.0/8`, or a single address.
 *
 * @throws Error with a sentence
 */
export function parseNetwork(text: string): Network {
  const [address = "", length, ...more] = text.split("/");
  const bytes = address.includes("%") ? undefined : addressBytes(address);
  const mostBits = (bytes?.length ?? 0) * 8;
  const bits = length === undefined ? mostBits : /^\d{1,3}$/.test(length) ? Number(length) : Infinity;
  if (bytes === undefined || more.length > 0 || bits > mostBits)
    throw new Error(`${quoted(text)} is no network: write it as 10.0.0.0/8 or fd00::/8`);
  return { bytes, bits };
}

export function hasAddress(address: Uint8Array, { bytes, bits }: Network): boolean {
  if (address.length !== bytes.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (address[at] !== bytes[at]) return false;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return ((address[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask);
}

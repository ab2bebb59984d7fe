import type { Authorities } from "./authority.js";

/** The certificates of all authorities, in PEM: what those need who verify certificates of any of them. */
export function bundleOf(authorities: Authorities): string {
  return authorities.map(({ cert }) => `${cert.trim()}\n`).join("");
}

import type { SyncMessage } from "../support/stock-sync-client.js";

/** The value of the flag `version` in a message of a sync service; NaN if it has none. */
export function versionIn({ flags }: SyncMessage): number {
  const variants = (flags["version"] as { readonly variants?: { readonly now?: unknown } } | undefined)
    ?.variants;
  return typeof variants?.now === "number" ? variants.now : Number.NaN;
}

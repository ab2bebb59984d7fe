import type { Clock } from "@bunting/runtime";
import { TokenFile } from "@bunting/sync-client";
import type { GrpcSourceConfig } from "./source-config.js";

/**
 * The file with the token of a source; undefined if it has none.
 *
 * @param intervalMs how often a stream looks for another token, in ms
 */
export function tokenFileOf(
  { tokenFile, tokenBinding }: Pick<GrpcSourceConfig, "tokenFile" | "tokenBinding">,
  clock: Clock,
  intervalMs: number,
): TokenFile | undefined {
  return tokenFile === "" ? undefined : new TokenFile(tokenFile, clock, intervalMs, tokenBinding);
}

import { TokenFile } from "@bunting/sync-client";
import type { GrpcSourceConfig } from "./source-config.js";

/** The file with the token of a source; undefined if it has none. */
export function tokenFileOf({
  tokenFile,
  tokenBinding,
}: Pick<GrpcSourceConfig, "tokenFile" | "tokenBinding">): TokenFile | undefined {
  return tokenFile === "" ? undefined : new TokenFile(tokenFile, tokenBinding);
}

import { quoted } from "@bunting/runtime/options";
import type { SyncServer } from "./server.js";

/** What to look at where a server does not accept the caller. The server has said why. */
export function tokenAdvice({ tokenFile }: Pick<SyncServer, "tokenFile">): string {
  return tokenFile === undefined
    ? "Name a file with a token by --token-file"
    : `The token was read from ${quoted(tokenFile)}`;
}

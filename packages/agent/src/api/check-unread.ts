import { RpcError } from "@bunting/rpc";
import { type PeerAccount } from "@bunting/server";

/** Far more than an ordinary client leaves unread. */
const maxChargedBytes = 8 * 1024 * 1024;

/**
 * Refuses to make another answer for a connection that is charged so much already. The ledger ends such connections, but only once all requests of
 * a chunk were answered, of which there may be hundreds.
 */
export function checkUnread(account: PeerAccount | undefined): void {
  if (account === undefined || account.bytes <= maxChargedBytes) return;
  throw new RpcError("UNAVAILABLE", "The answers to this connection have not been read.", {
    refusal: "unread_answers",
    trailers: { "grpc-retry-pushback-ms": "1000" },
  });
}

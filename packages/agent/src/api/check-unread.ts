import { RpcError } from "@bunting/rpc";
import { type PeerAccount } from "@bunting/server";

/** An ordinary client leaves far fewer bytes unread. */
const maxChargedBytes = 8 * 1024 * 1024;

/**
 * Refuses a request if its connection holds too many bytes already. The ledger ends such a connection as well, but only after all requests of the
 * chunk that was read, of which there may be hundreds, were answered.
 */
export function checkUnread(account: PeerAccount | undefined): void {
  if (account === undefined || account.bytes <= maxChargedBytes) return;
  throw new RpcError("UNAVAILABLE", "The answers to this connection have not been read.", {
    refusal: "unread_answers",
    trailers: { "grpc-retry-pushback-ms": "1000" },
  });
}

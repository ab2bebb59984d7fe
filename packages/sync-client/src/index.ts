export { callSync, type SyncCall } from "./call-sync.js";
export { connectionAdvice } from "./connection-advice.js";
export { callSyncFlags } from "./flagd-call.js";
export { grpcTls } from "./grpc-tls.js";
export { MessageBuffer } from "./message-buffer.js";
export { OutgoingMessages } from "./outgoing-messages.js";
export { runRenewing, type StreamTurn } from "./renew-stream.js";
export { SentSecrets } from "./sent-secrets.js";
export {
  callEnd,
  runCall,
  statusName,
  type CallEnd,
  type StreamCall,
  type StreamParts,
} from "./stream-call.js";
export { SyncChannel } from "./sync-channel.js";
export type { TokenBinding } from "./token-binding.js";
export { TokenFile } from "./token-file.js";

import type { RpcStatus } from "@bunting/rpc";

/** What is below an outgoing stream: a stream of gRPC, or an HTTP response. */
export interface ClientStream {
  /** False once it has ended in any way. */
  readonly isOpen: boolean;
}

/** The sending half of a streaming call, in any protocol; that of gRPC is rpc's ResponseStream. */
export interface OutgoingStream {
  readonly stream: ClientStream;
  /** A request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Sends a frame that other streams send as well; see TransportStream.writeShared. */
  writeShared(frame: Uint8Array, onWritten?: (error?: Error) => void): void;
  end(status: RpcStatus): void;
  onClose(listener: () => void): void;
}

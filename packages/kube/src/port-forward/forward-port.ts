import { Duplex } from "node:stream";
import type { ClusterConfig } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";
import { objectPath } from "../rest/resource-path.js";
import { openWebSocket, type OpenWebSocket } from "./open-websocket.js";
import { encodeFrame, frameDecoder, opcode } from "./websocket-frames.js";

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Each message begins with a byte for its channel: data, or errors; the first on each has the number of the port. */
const protocol = "v4.channel.k8s.io";
const dataChannel = 0;
const portBytes = 2;
const maxMessageBytes = 1024 * 1024;

/**
 * Connects to a port of a Pod through the API server and the kubelet, which connects to it on the Pod's loopback, as `kubectl port-forward`
 * does. Needs the verbs get and create on pods/portforward. What the Pod refuses shows as an error of the connection.
 *
 * @throws KubeError
 */
export async function forwardPort(
  config: ClusterConfig,
  target: PodPort,
  signal: AbortSignal,
): Promise<Duplex> {
  const { namespace, pod, port } = target;
  const scope = { type: { group: "", version: "v1", plural: "pods" }, namespace };
  const path = `${objectPath(scope, pod, "portforward")}?ports=${port}`;
  return new ForwardedPort(await openWebSocket(config, path, protocol, signal), target);
}

class ForwardedPort extends Duplex {
  readonly #socket: Duplex;
  readonly #target: PodPort;
  /** The bytes of each channel that are still to be passed over. */
  readonly #skip = [portBytes, portBytes];
  /** Called once. */
  #begin: (() => void) | undefined;

  constructor({ socket, head }: OpenWebSocket, target: PodPort) {
    super();
    this.#socket = socket;
    this.#target = target;
    const decode = frameDecoder(maxMessageBytes, (code, payload) => this.#take(code, payload));
    const read = (chunk: Buffer): void => {
      try {
        decode(chunk);
      } catch (error) {
        this.destroy(new KubeError("PROTOCOL", (error as Error).message, { cause: error }));
      }
    };
    // Not before somebody reads: what the Pod refuses may be in the head already, and nobody could listen for errors yet.
    this.#begin = () => {
      if (head.length > 0) read(head);
      socket.on("data", read);
    };
    socket.on("error", (error) => this.destroy(this.#lost(error.message, error)));
    socket.on("close", () => {
      this.push(null);
      this.destroy();
    });
  }

  override _read(): void {
    this.#begin?.();
    this.#begin = undefined;
    if (!this.destroyed) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const frame = encodeFrame(opcode.binary, Buffer.concat([Buffer.of(dataChannel), chunk]));
    this.#socket.write(frame, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    // The protocol has no half-closed connections.
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#socket.destroyed) this.#socket.end(encodeFrame(opcode.close, Buffer.alloc(0)));
    this.#socket.destroy();
    done(error);
  }

  #take(code: number, payload: Buffer): void {
    if (code === opcode.ping) this.#socket.write(encodeFrame(opcode.pong, payload));
    else if (code === opcode.close) this.push(null);
    else if (code === opcode.binary && payload.length > 0)
      this.#takeMessage(payload[0] ?? 0, payload.subarray(1));
  }

  #takeMessage(channel: number, bytes: Buffer): void {
    const skipped = Math.min(this.#skip[channel] ?? 0, bytes.length);
    this.#skip[channel] = (this.#skip[channel] ?? 0) - skipped;
    const rest = bytes.subarray(skipped);
    if (rest.length === 0) return;
    if (channel !== dataChannel) this.destroy(this.#lost(rest.toString().trim()));
    else if (!this.push(rest)) this.#socket.pause();
  }

  #lost(reason: string, cause?: unknown): KubeError {
    const { namespace, pod, port } = this.#target;
    const message = `the connection to port ${port} of the Pod ${namespace}/${pod} broke: ${reason}`;
    return new KubeError("CONNECTION_LOST", message, cause === undefined ? {} : { cause });
  }
}

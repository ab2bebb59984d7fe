import type { Socket } from "node:net";
import { drainSessions, peerAddress, type PeerCertificate, type TransportSession } from "@bunting/http2";
import { forEachInSlices, Sweep, systemClock } from "@bunting/runtime";
import { peerCertificateOf } from "./peer-certificate.js";
import { VerifiedCertificate, type Distrust } from "./verified-certificate.js";

export interface WatchedConnections {
  readonly sessions: Iterable<TransportSession>;
  /** Connections over HTTP/1.1, or whose protocol is not known yet. */
  readonly sockets: Iterable<Socket>;
}

/** Time for the trailers of the streams of a connection that is ended. */
const graceMs = 1_000;
/** How many certificates are looked at in one slice: after a change of the authorities, each takes some tenths of a millisecond. */
const slices = { perSlice: 32 };
const reasons: Readonly<Record<Distrust, string>> = {
  expired: "the client's certificate has expired",
  untrusted: "the client's certificate is no longer trusted: its authority was removed",
};

/** Ends the connections of clients whose certificate has expired, or whose authority is no longer trusted. */
export class ClientCertificateWatch {
  readonly #connections: WatchedConnections;
  readonly #onEnd: (reason: string, peer: string) => void;
  readonly #ending = new WeakSet<TransportSession>();
  #sweep: Sweep | undefined;

  constructor(connections: WatchedConnections, onEnd: (reason: string, peer: string) => void) {
    this.#connections = connections;
    this.#onEnd = onEnd;
  }

  /** Looks at them every so often; never if that is undefined. */
  start(everyMs: number | undefined): void {
    if (everyMs === undefined) return;
    this.#sweep = new Sweep(systemClock, everyMs, () => this.#look());
    this.#sweep.start();
  }

  stop(): void {
    this.#sweep?.stop();
  }

  #look(): void {
    const { sessions, sockets } = this.#connections;
    void forEachInSlices(sessions, (session) => this.#checkSession(session), slices);
    void forEachInSlices(sockets, (socket) => this.#checkSocket(socket), slices);
  }

  #checkSession(session: TransportSession): void {
    const distrust = distrustOf(session.peerCertificate);
    if (distrust === undefined || !session.isOpen || this.#ending.has(session)) return;
    this.#ending.add(session);
    this.#onEnd(reasons[distrust], session.remoteAddress);
    const message = `${reasons[distrust]}; connect again with one that is valid`;
    void drainSessions([session], {
      windowMs: 0,
      graceMs,
      onStream: (stream) => stream.end({ code: "UNAVAILABLE", message }),
    });
  }

  #checkSocket(socket: Socket): void {
    const distrust = distrustOf(peerCertificateOf(socket));
    if (distrust === undefined || socket.destroyed) return;
    this.#onEnd(reasons[distrust], peerAddress(socket));
    socket.destroy();
  }
}

function distrustOf(certificate: PeerCertificate | undefined): Distrust | undefined {
  return certificate instanceof VerifiedCertificate ? certificate.distrust() : undefined;
}

import type { TransportSession } from "@bunting/rpc";
import { Counter, Gauge, type Registry } from "@bunting/runtime";

type Secured = Pick<TransportSession, "isEncrypted" | "peerCertificate">;

/** What the sync port reports about how its connections are secured. */
export interface ConnectionMetrics {
  /** A connection has begun. */
  connectionOpened(connection: Secured): void;
  /** Reports these connections from now on. */
  readConnections(connections: () => Iterable<Secured>): void;
}

const kinds = ["none", "tls", "mutual_tls"] as const;

/** The metrics of how connections are secured, which show when all clients have moved to TLS. */
export function connectionMetrics(registry: Registry): ConnectionMetrics {
  const registers = [registry];
  let read: () => Iterable<Secured> = () => [];
  const opened = new Counter({
    name: "bunting_proxy_service_connections_total",
    help: "Connections of the sync port that spoke HTTP/2, by their encryption: none (plaintext), tls, or mutual_tls (the client has presented a certificate).",
    labelNames: ["encryption"],
    registers,
  });
  for (const encryption of kinds) opened.inc({ encryption }, 0);
  new Gauge({
    name: "bunting_proxy_service_connections",
    help: "Open connections of the sync port, by their encryption: none (plaintext), tls, or mutual_tls (the client has presented a certificate).",
    labelNames: ["encryption"],
    registers,
    collect() {
      const counts = { none: 0, tls: 0, mutual_tls: 0 };
      for (const connection of read()) counts[kindOf(connection)]++;
      for (const encryption of kinds) this.set({ encryption }, counts[encryption]);
    },
  });
  return {
    connectionOpened: (connection) => opened.inc({ encryption: kindOf(connection) }),
    readConnections: (connections) => {
      read = connections;
    },
  };
}

function kindOf({ isEncrypted, peerCertificate }: Secured): (typeof kinds)[number] {
  if (!isEncrypted) return "none";
  return peerCertificate === undefined ? "tls" : "mutual_tls";
}

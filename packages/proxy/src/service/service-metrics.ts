import type { TransportSession } from "@bunting/rpc";
import { counter, defineMetrics, label, observed, upDownCounter } from "@bunting/runtime";
import type { DropReason } from "@bunting/server";

type Secured = Pick<TransportSession, "isEncrypted" | "peerCertificate">;
type Encryption = "none" | "tls" | "mutual_tls";

/** Streams and connections of the sync port, and those of any port that a limit refuses, ends or delays. */
export const serviceMetrics = defineMetrics({
  stalled: counter(
    "bunting_proxy_subscriber_stalled_total",
    "Streams of any method that were reset because their peer took nothing of a message for --stall-timeout.",
  ),
  queuedStarts: upDownCounter(
    "bunting_proxy_subscriber_queued",
    "Streams that wait for their first snapshot (--first-snapshot-rate).",
  ),
  connectionEnded: counter(
    "bunting_proxy_service_connections_ended_total",
    "Connections ended by the proxy: silent (no answer to a PING), stalled (the peer read nothing at all for --stall-timeout), flood (of PING or SETTINGS frames), protocol_error (the peer violated HTTP/2), memory (held more than others, or new, while --peer-memory was used up), settings (not acknowledged), idle (no stream that is served for too long), headers (too large, over HTTP/1.1), unfinished_headers (a header block of HTTP/2 did not end), tls (a handshake failed, or the peer spoke TLS to a port without, or plaintext to one with it), certificate (the client's has expired, or is no longer trusted), age (--max-connection-age).",
    label<DropReason | "age">(
      "reason",
      "silent",
      "stalled",
      "flood",
      "protocol_error",
      "memory",
      "settings",
      "idle",
      "headers",
      "unfinished_headers",
      "tls",
      "certificate",
      "age",
    ),
  ),
  callsWaiting: upDownCounter(
    "bunting_proxy_service_calls_waiting",
    "Calls that have arrived and wait for their turn, because their connection makes many short ones.",
  ),
  callDelayed: counter(
    "bunting_proxy_service_calls_delayed_total",
    "Calls that had to wait for their turn, because their connection made many short ones; none is refused for that.",
  ),
  /** They show when all clients have moved to TLS. */
  connectionOpened: counter(
    "bunting_proxy_service_connections_total",
    "Connections of the sync port that spoke HTTP/2, by their encryption: none (plaintext), tls, or mutual_tls (the client has presented a certificate).",
    label<Encryption>("encryption", "none", "tls", "mutual_tls"),
  ),
  readConnections: observed<Iterable<Secured>>(
    [],
    [
      {
        name: "bunting_proxy_service_connections",
        help: "Open connections of the sync port, by their encryption: none (plaintext), tls, or mutual_tls (the client has presented a certificate).",
        label: "encryption",
        of: (connections) => {
          const counts: Record<Encryption, number> = { none: 0, tls: 0, mutual_tls: 0 };
          for (const connection of connections) counts[encryptionOf(connection)]++;
          return Object.entries(counts);
        },
      },
    ],
  ),
});

export function encryptionOf({ isEncrypted, peerCertificate }: Secured): Encryption {
  if (!isEncrypted) return "none";
  return peerCertificate === undefined ? "tls" : "mutual_tls";
}

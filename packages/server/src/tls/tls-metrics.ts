import { counter, defineMetrics, gauge, label, type MetricsOf } from "@bunting/runtime";

/** Ends of handshakes. */
const handshakeResults = {
  done: "complete",
  resumed: "complete, and shorter because the client resumed a session",
  plaintext: "the client spoke plaintext to a port with TLS",
  timeout: "it did not end in time",
  size: "the client sent too much",
  closed: "the connection was closed meanwhile",
  protocol: "version, cipher or anything else that OpenSSL names in the log",
  certificate_missing: "the client presented no certificate, and has to",
  certificate_expired: "the client's certificate has expired",
  certificate_untrusted: "no trusted authority has issued the client's certificate",
  certificate_invalid: "the client's certificate can't be used for another reason, which the log names",
} as const;
export type HandshakeResult = keyof typeof handshakeResults;

/** The metrics of TLS, the same for every service. `prefix` is that of their names. */
export const tlsMetrics = (prefix: string) =>
  defineMetrics({
    handshake: counter(
      `${prefix}_tls_handshakes_total`,
      `Handshakes of TLS by result: ${Object.entries(handshakeResults)
        .map(([result, meaning]) => `${result} (${meaning})`)
        .join(", ")}.`,
      label("result", ...(Object.keys(handshakeResults) as HandshakeResult[])),
    ),
    reload: counter(
      `${prefix}_tls_reloads_total`,
      "Changes of the files of TLS by result: used, or refused, so that what was read before stays in use.",
      label("file", "certificate", "client_ca"),
      label("result", "used", "refused"),
    ),
    validTo: gauge(
      `${prefix}_tls_not_after_timestamp_seconds`,
      "When the certificate in use (with its chain), or the first of the clients' authorities, expires, in seconds since 1970.",
      label<"certificate" | "client_ca">("file"),
    ),
  });
export type TlsMetrics = MetricsOf<ReturnType<typeof tlsMetrics>>;

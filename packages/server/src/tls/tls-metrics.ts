import { Counter, Gauge, type Registry } from "@bunting/runtime";

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

/** The files that TLS reads again when they change. */
const tlsFiles = ["certificate", "client_ca"] as const;
export type TlsFile = (typeof tlsFiles)[number];

/** Reports of TLS. */
export interface TlsMetrics {
  handshake(result: HandshakeResult): void;
  reload(file: TlsFile, isUsed: boolean): void;
  validTo(file: TlsFile, ms: number): void;
}

/** The metrics of TLS, the same for every service. `prefix` is that of their names. */
export function tlsMetrics(registry: Registry, prefix: string): TlsMetrics {
  const registers = [registry];
  const handshakes = new Counter({
    name: `${prefix}_tls_handshakes_total`,
    help: `Handshakes of TLS by result: ${Object.entries(handshakeResults)
      .map(([result, meaning]) => `${result} (${meaning})`)
      .join(", ")}.`,
    labelNames: ["result"],
    registers,
  });
  const reloads = new Counter({
    name: `${prefix}_tls_reloads_total`,
    help: "Changes of the files of TLS by result: used, or refused, so that what was read before stays in use.",
    labelNames: ["file", "result"],
    registers,
  });
  const validTo = new Gauge({
    name: `${prefix}_tls_not_after_timestamp_seconds`,
    help: "When the certificate in use (with its chain), or the first of the clients' authorities, expires, in seconds since 1970.",
    labelNames: ["file"],
    registers,
  });
  for (const result of Object.keys(handshakeResults)) handshakes.inc({ result }, 0);
  for (const file of tlsFiles) for (const result of ["used", "refused"]) reloads.inc({ file, result }, 0);
  return {
    handshake: (result) => handshakes.inc({ result }),
    reload: (file, isUsed) => reloads.inc({ file, result: isUsed ? "used" : "refused" }),
    validTo: (file, ms) => validTo.set({ file }, ms / 1_000),
  };
}

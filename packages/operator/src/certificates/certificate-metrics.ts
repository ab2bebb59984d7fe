import { counter, defineMetrics, label, transientGauge, type MetricsOf } from "@bunting/runtime";

/** The metrics of the certificates that admission and the proxy serve with. */
export const certificateMetrics = defineMetrics({
  notAfter: transientGauge(
    "bunting_operator_certificate_not_after_timestamp_seconds",
    "When the certificate of this replica (leaf), or of the newest authority (authority), expires, in seconds since 1970; that of the proxy (proxy-leaf), and of its authority (proxy-authority), as the leader has them.",
    label<"leaf" | "authority" | "proxy-leaf" | "proxy-authority">("certificate"),
  ),
  issued: counter(
    "bunting_operator_certificates_issued_total",
    "Certificates made by this process: of its own server (leaf), or of a new authority (authority), and the proxy's likewise (proxy-leaf, proxy-authority).",
    label("certificate", "leaf", "authority", "proxy-leaf", "proxy-authority"),
  ),
});
export type CertificateMetrics = MetricsOf<typeof certificateMetrics>;

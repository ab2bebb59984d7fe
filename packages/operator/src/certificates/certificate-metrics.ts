import { counter, defineMetrics, gauge, label, type MetricsOf } from "@bunting/runtime";

/** The metrics of the certificates that admission serves with. */
export const certificateMetrics = defineMetrics({
  notAfter: gauge(
    "bunting_operator_certificate_not_after_timestamp_seconds",
    "When the certificate of this replica (leaf), or of the newest authority (authority), expires, in seconds since 1970.",
    label<"leaf" | "authority">("certificate"),
  ),
  issued: counter(
    "bunting_operator_certificates_issued_total",
    "Certificates made by this process: of its own server (leaf), or of a new authority (authority).",
    label("certificate", "leaf", "authority"),
  ),
});
export type CertificateMetrics = MetricsOf<typeof certificateMetrics>;

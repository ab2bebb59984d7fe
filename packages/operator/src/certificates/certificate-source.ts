import type { TlsCertificate } from "@bunting/server";

/** Where the server of admission gets its certificate from: files, or memory. Listeners are added before there is a first pair. */
export type CertificateSource = Pick<TlsCertificate, "onPair">;

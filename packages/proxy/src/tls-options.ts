import { choice, option, optionGroup, textOption } from "@bunting/runtime";

/** The options of TLS on the proxy's ports. */
export const tlsOptionTable = optionGroup("TLS", {
  tls: option(
    choice("off", "on", "both"),
    "off",
    "TLS on the sync port: on refuses plaintext; both tells the two apart by the first byte of a connection, for as long as clients are being moved to TLS.",
  ),
  tlsCertPath: textOption(
    "A file with the certificate, in PEM and with those of intermediate authorities after it. It is read again when it changes, as are the other files.",
  ),
  tlsKeyPath: textOption("A file with the private key of that certificate, in PEM and without a password."),
  tlsClientCaPath: textOption(
    "A file with the certificates, in PEM, of the authorities that issue certificates for clients. Connections of clients whose authority is removed from it end.",
  ),
  tlsClientAuth: option(
    choice("off", "request", "require"),
    "off",
    "Whether clients that speak TLS are asked for a certificate: request also serves those that present none, require does not; both refuse one that is not valid. With --tls=both, neither says anything of plaintext.",
  ),
  managementTls: option(
    choice("off", "on", "both"),
    "off",
    "TLS on the management port, with the same files. Clients are never required to present a certificate there, because probes can't.",
  ),
});

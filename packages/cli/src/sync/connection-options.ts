import { textOption, toggleOption, type OptionsOf } from "@bunting/runtime/options";

/** The options of commands that connect to a server, besides its address. */
export const connectionOptions = {
  tls: toggleOption("Connect with TLS."),
  caFile: textOption(
    "PEM file with the certificate authorities to trust, instead of those of Node.js. Implies --tls.",
  ),
  tlsServerName: textOption(
    "Name that the server's certificate must have, if it differs from the host of the address, as behind a port-forward.",
  ),
  tokenFile: textOption(
    "File with a bearer token for the server, read for each connection. The token is sent over TLS, to this machine or to a unix socket only.",
  ),
} as const;

export type ConnectionOptions = OptionsOf<typeof connectionOptions>;

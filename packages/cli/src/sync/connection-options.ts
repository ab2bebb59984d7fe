import { option, text, toggle, type OptionsOf } from "@bunting/runtime/options";

/** The options of commands that connect to a server, besides its address. */
export const connectionOptions = {
  tls: option({ type: toggle, default: false, describe: "Connect with TLS." }),
  caFile: option({
    type: text,
    default: "",
    describe:
      "PEM file with the certificate authorities to trust, instead of those of Node.js. Implies --tls.",
  }),
  tlsServerName: option({
    type: text,
    default: "",
    describe:
      "Name that the server's certificate must have, if it differs from the host of the address, as behind a port-forward.",
  }),
  tokenFile: option({
    type: text,
    default: "",
    describe:
      "File with a bearer token for the server, read for each connection. The token is sent over TLS, to this machine or to a unix socket only.",
  }),
} as const;

export type ConnectionOptions = OptionsOf<typeof connectionOptions>;

import { option, text, toggle, type OptionSpec } from "@bunting/runtime/options";

/** What connections to a server take, besides its address. */
export interface ConnectionOptions {
  readonly tls: boolean;
  readonly caFile: string;
  readonly tlsServerName: string;
  readonly tokenFile: string;
}

type Table = { readonly [Name in keyof ConnectionOptions]: OptionSpec<ConnectionOptions[Name]> };

/** The options of commands that connect to a server, under this heading. */
export function connectionOptions(group: string): Table {
  return {
    tls: option({
      type: toggle,
      default: false,
      describe: "Connect with TLS.",
      group,
      env: ["BUNTING_TLS"],
    }),
    caFile: option({
      type: text,
      default: "",
      describe:
        "PEM file with the certificate authorities to trust, instead of those of Node.js. Implies --tls.",
      group,
      env: ["BUNTING_CA_FILE"],
    }),
    tlsServerName: option({
      type: text,
      default: "",
      describe:
        "Name that the server's certificate must have, if it differs from the host of the address, as behind a port-forward.",
      group,
      env: ["BUNTING_TLS_SERVER_NAME"],
    }),
    tokenFile: option({
      type: text,
      default: "",
      describe:
        "File with a bearer token for the server, read for each connection. The token is sent over TLS, to this machine or to a unix socket only.",
      group,
      env: ["BUNTING_TOKEN_FILE"],
    }),
  };
}

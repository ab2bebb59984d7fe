import { option, text, toggle } from "@bunting/runtime";

const upstream = "Reaching other proxies";

/** Options of `--source upstream:…`. */
export const upstreamOptionTable = {
  topicPrefix: option({
    type: text,
    default: "",
    describe:
      "A prefix for the topics of each upstream, such as eu/,us/ for two: clients then select eu/NAMESPACE/NAME. In the order of --source; one may be empty.",
    group: upstream,
    env: ["BUNTING_TOPIC_PREFIX"],
  }),
  upstreamTls: option({
    type: toggle,
    default: false,
    describe: "Speaks TLS to the upstreams; on as well if one of the files for it is named.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_TLS"],
  }),
  upstreamCaFile: option({
    type: text,
    default: "",
    describe:
      "A file with the certificates, in PEM, of the authorities that the upstreams' certificates come from; if empty, those of Node. It is read for each connection, as are the next two.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_CA_FILE"],
  }),
  upstreamClientCertFile: option({
    type: text,
    default: "",
    describe: "A file with the certificate, in PEM, that the proxy presents to the upstreams.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_CLIENT_CERT_FILE"],
  }),
  upstreamClientKeyFile: option({
    type: text,
    default: "",
    describe: "A file with the private key of that certificate, in PEM and without a password.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_CLIENT_KEY_FILE"],
  }),
  upstreamTokenFile: option({
    type: text,
    default: "",
    describe:
      "A file with the token that says to the upstreams who this proxy is. When it changes, streams with the new one take over, once the upstream has accepted it.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_TOKEN_FILE"],
  }),
  upstreamTokenOverPlaintext: option({
    type: toggle,
    default: false,
    describe:
      "Sends the token although the connection is in plaintext, where everybody on the way can read it. Otherwise a token without TLS is an error.",
    group: upstream,
    env: ["BUNTING_UPSTREAM_TOKEN_OVER_PLAINTEXT"],
  }),
} as const;

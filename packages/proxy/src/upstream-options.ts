import { optionGroup, toggleOption, textOption } from "@bunting/runtime";

export const upstreamOptionTable = optionGroup("Reaching other proxies", {
  topicPrefix: textOption(
    "A prefix for the topics of each upstream, such as eu/,us/ for two: clients then select eu/NAMESPACE/NAME. In the order of --source; one may be empty.",
  ),
  upstreamTls: toggleOption("Speaks TLS to the upstreams; on as well if one of the files for it is named."),
  upstreamCaFile: textOption(
    "A file with the certificates, in PEM, of the authorities that the upstreams' certificates come from; if empty, those of Node. It is read for each connection, as are the next two.",
  ),
  upstreamClientCertFile: textOption(
    "A file with the certificate, in PEM, that the proxy presents to the upstreams.",
  ),
  upstreamClientKeyFile: textOption(
    "A file with the private key of that certificate, in PEM and without a password.",
  ),
  upstreamTokenFile: textOption(
    "A file with the token that says to the upstreams who this proxy is. When it changes, streams with the new one take over, once the upstream has accepted it.",
  ),
  upstreamTokenOverPlaintext: toggleOption(
    "Sends the token although the connection is in plaintext, where everybody on the way can read it. Otherwise a token without TLS is an error.",
  ),
});

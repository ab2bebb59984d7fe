import { AddressGuard, parseNetwork, type AllowedHost } from "@bunting/outbound";
import type { ExtensionSpec } from "../api/extension.js";

export interface ExtensionAddress {
  readonly url: string;
  readonly guard: AddressGuard;
}

/** Where Services and their Pods are. Neither loopback nor link-local addresses are among them. */
const clusterNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"].map(
  parseNetwork,
);

/**
 * Where an extension is asked, and by what guard: its Service in the cluster, with TLS if the Extension has the certificates to verify that by, or its URL,
 * whose host has to be listed.
 */
export function extensionAddress(
  { service, url = "", caBundle }: Pick<ExtensionSpec, "service" | "url" | "caBundle">,
  hosts: readonly AllowedHost[],
): ExtensionAddress {
  if (service === undefined) return { url, guard: new AddressGuard({ hosts, option: "--extension-hosts" }) };
  const name = `${service.name}.${service.namespace}.svc`;
  const isPlain = caBundle === undefined;
  const host: AllowedHost = { name, port: service.port, isPlain, networks: clusterNetworks };
  return {
    url: `${isPlain ? "http" : "https"}://${name}:${service.port}${service.path}`,
    guard: new AddressGuard({ hosts: [host], option: "the networks of Services" }),
  };
}

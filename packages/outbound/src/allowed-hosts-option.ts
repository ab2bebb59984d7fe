import { list, type ValueType } from "@bunting/runtime";
import { parseAllowedHost } from "./allowed-host.js";

/** Hosts that may be called, each as `parseAllowedHost` reads it; empty: none. */
export const allowedHosts: ValueType<readonly string[]> = {
  ...list,
  fromTexts: (texts) => readable(list.fromTexts(texts)),
  fromVariable: (value) => readable(list.fromVariable?.(value) ?? [value]),
  fromConfig: (value) => readable(list.fromConfig(value)),
};

function readable(hosts: readonly string[]): readonly string[] {
  hosts.forEach(parseAllowedHost);
  return hosts;
}

/** What may be written for a host, for the description of such an option. */
export function hostForms(host: string): string {
  return `${host}, ${host}:8443, *.example.com, http://${host} for one without TLS, and any of these with =10.0.0.0/8 after it for one whose addresses are not public`;
}

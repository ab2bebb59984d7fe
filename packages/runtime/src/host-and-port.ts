/** `HOST:PORT`; an address of IPv6 is in brackets, as in URLs. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

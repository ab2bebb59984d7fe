import type { CredentialHeaders, Credentials } from "./cluster-config.js";

/** Credentials that never change: a token or password in a kubeconfig, or no credentials. */
export function fixedCredentials(headers: CredentialHeaders = {}): Credentials {
  return { headers: () => Promise.resolve(headers), renew: () => Promise.resolve(false) };
}

export function bearer(token: string): CredentialHeaders {
  return { authorization: `Bearer ${token}` };
}

export function basic(username: string, password: string): CredentialHeaders {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
}

export function sameHeaders(a: CredentialHeaders, b: CredentialHeaders): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

import { HttpFailure } from "@bunting/sync-client/http";

/**
 * The header for what a Secret holds: a token, or all of the header's value, such as `Basic dXNlcjpwYXNzd29yZA==`.
 *
 * @throws HttpFailure credentials, which does not repeat the secret
 */
export function authorization(credential: string | undefined): Readonly<Record<string, string>> {
  if (credential === undefined) return {};
  const value = credential.trim();
  if (!/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(value))
    throw new HttpFailure(
      "credentials",
      "the Secret holds what can't be sent: it must be a token of ASCII in one line",
    );
  return { authorization: value.includes(" ") ? value : `Bearer ${value}` };
}

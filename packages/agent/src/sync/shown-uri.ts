/** A URI as logs, metrics and /readyz show it, in one line. A user with a password, and what follows `?`, such as a signature, may be secrets. */
export function shownUri(uri: string): string {
  const [start = "", ...query] = uri.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\ufffd").split("?");
  return `${start.replace(/\/\/[^/@]*@/, "//")}${query.length === 0 ? "" : "?…"}`;
}

/** A URI as logs, metrics and /readyz show it. A user with a password, and what follows `?`, such as a signature, may be secrets. */
export function shownUri(uri: string): string {
  const [withoutQuery = ""] = uri.split("?", 1);
  return `${withoutQuery.replace(/\/\/[^/@]*@/, "//")}${withoutQuery === uri ? "" : "?…"}`;
}

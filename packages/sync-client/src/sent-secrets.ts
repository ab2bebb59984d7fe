/** Shorter values would be found in ordinary words. */
const leastCharacters = 8;

/**
 * What a source sends to its server as a proof of who it is, to be kept out of texts that the server writes: they go to the log and to `/readyz`, and
 * a server may repeat in them what it was sent.
 */
export class SentSecrets {
  readonly #fixed: readonly string[];
  /** The newest two: while one takes over, the stream with the other goes on. */
  #tokens: readonly string[] = [];

  /** @param headers those of the requests, by lower-case name */
  constructor(headers: Readonly<Record<string, string>>) {
    this.#fixed = Object.values(headers);
  }

  sent(token: string): void {
    if (this.#tokens[0] !== token) this.#tokens = [token, ...this.#tokens.slice(0, 1)];
  }

  /** Also finds the parts of a token, and of `Bearer` and a token. */
  readonly redact = (text: string): string =>
    [...this.#fixed, ...this.#tokens]
      .flatMap((secret) => [secret, ...secret.split(/[\s.]+/)])
      .filter((part) => part.length >= leastCharacters)
      .reduce((rest, part) => rest.replaceAll(part, "[redacted]"), text);
}

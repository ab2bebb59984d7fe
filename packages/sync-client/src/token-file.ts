import { readSmallFile, sleep, stampOfFile, tokenSyntax, type Clock } from "@bunting/runtime";
import { checkTokenBinding, type TokenBinding } from "./token-binding.js";

/** Tokens of ServiceAccounts take one or two kilobytes. */
const maxFileBytes = 16 * 1024;

/** A file with a token that something else replaces, as the kubelet does with those of ServiceAccounts. */
export class TokenFile {
  readonly path: string;
  readonly #binding: TokenBinding | undefined;

  /** @param binding absent: the token may go wherever its reader connects to */
  constructor(path: string, binding?: TokenBinding) {
    this.path = path;
    this.#binding = binding;
  }

  /** @throws Error that names the file and its fault, and quotes nothing of its content; or that names the server that the token is not meant for */
  async read(): Promise<string> {
    if (this.#binding !== undefined) await checkTokenBinding(this.#binding);
    const content = await readSmallFile(this.path, maxFileBytes).catch((cause: unknown) => {
      throw new Error(`the token file ${this.path} can't be read (${(cause as Error).message})`, { cause });
    });
    const token = content.toString().trim();
    if (tokenSyntax.test(token)) return token;
    const problem =
      token === "" ? "it is empty" : "it has more than one token, or characters that no token has";
    throw new Error(`the token file ${this.path} can't be used: ${problem}`);
  }

  /**
   * Resolves with the token of the file once it is another one; with undefined if the signal aborts before.
   *
   * @param intervalMs how often the file is looked at
   */
  async waitForAnother(
    token: string,
    { clock, intervalMs }: { readonly clock: Clock; readonly intervalMs: number },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    let stamp = "";
    for (;;) {
      await sleep(intervalMs, signal, clock);
      if (signal.aborted) return undefined;
      const newest = await stampOfFile(this.path);
      if (newest === stamp) continue;
      // A file that is being written is read again later: the current token is still good.
      const found = await this.read().catch(() => undefined);
      if (found === undefined) continue;
      if (found !== token) return found;
      stamp = newest;
    }
  }
}

import { HttpFailure } from "./http-failure.js";

/** The token of a file, read for each request: something else replaces it. */
export class FileToken {
  readonly #file: { read(): Promise<string> };

  /** @param file a TokenFile */
  constructor(file: { read(): Promise<string> }) {
    this.#file = file;
  }

  /**
   * The value of the header Authorization.
   *
   * @throws HttpFailure
   */
  async header(): Promise<string> {
    try {
      return `Bearer ${await this.#file.read()}`;
    } catch (cause) {
      throw new HttpFailure("credentials", (cause as Error).message, { cause });
    }
  }

  /** Nothing else can be sent until somebody writes another token. */
  refused(): boolean {
    return false;
  }
}

import { createHash } from "node:crypto";
import type { VerifiedToken } from "./token-verifier.js";

/** Verified tokens by their digest, the oldest first. Tokens themselves are not kept. */
export class TokenCache {
  readonly #max: number;
  readonly #verified = new Map<string, VerifiedToken>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#verified.size;
  }

  get(digest: string): VerifiedToken | undefined {
    return this.#verified.get(digest);
  }

  set(digest: string, verified: VerifiedToken): void {
    this.#verified.set(digest, verified);
    if (this.#verified.size <= this.#max) return;
    const [oldest = ""] = this.#verified.keys();
    this.#verified.delete(oldest);
  }

  delete(digest: string): void {
    this.#verified.delete(digest);
  }
}

export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

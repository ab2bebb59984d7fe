import { FloodGuard } from "./flood-guard.js";

/** Streams that a client may have reset at once, and per second after that. */
const resetBurst = 1_000;
const resetsPerSecond = 33;

/** Counts what an ordinary client does now and then, and a hostile one all the time. */
export class PeerConduct {
  #floodGuard: FloodGuard | undefined;
  #resetsLeft = resetBurst;
  #countedMs = 0;

  /** Counts a SETTINGS; true if they are a flood. What is sent after one may be what it has asked for, a byte on each stream. */
  countSettings(): boolean {
    const nowMs = performance.now();
    this.#floodGuard ??= new FloodGuard(nowMs);
    return this.#floodGuard.count(nowMs);
  }

  /** Counts a PING; true if they are a flood. `sentBytes`: see FloodGuard. */
  countControlFrame(sentBytes: number): boolean {
    const nowMs = performance.now();
    this.#floodGuard ??= new FloodGuard(nowMs);
    return this.#floodGuard.isFlood(sentBytes, nowMs);
  }

  /**
   * Counts a stream that the client has reset (rapid resets, CVE-2023-44487), or that we have reset because of what the client has sent
   * ("MadeYouReset", CVE-2025-8671); true if it is one too many.
   */
  countReset(): boolean {
    const nowMs = performance.now();
    this.#resetsLeft = Math.min(
      resetBurst,
      this.#resetsLeft + ((nowMs - this.#countedMs) * resetsPerSecond) / 1_000,
    );
    this.#countedMs = nowMs;
    if (this.#resetsLeft < 1) return true;
    this.#resetsLeft--;
    return false;
  }
}

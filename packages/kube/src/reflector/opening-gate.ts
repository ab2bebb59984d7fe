import { KubeError } from "../kube-error.js";

/**
 * Lets so many watches open at once, the others in the order they came: an API server that just started, or ended every watch of a
 * type at once, must not meet all of them together (it answers 429, and a WatchList costs it most while it opens).
 */
export class OpeningGate {
  readonly #places: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(places = 20) {
    this.#places = places;
  }

  /** Watches that are being opened. */
  get opening(): number {
    return this.#taken;
  }

  /**
   * Resolves with a function that gives the place back; more calls of it do nothing.
   *
   * @throws KubeError ABORTED if the signal aborts first.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw unwanted();
    if (this.#taken < this.#places) this.#taken++;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#leave();
      isHeld = false;
    };
  }

  /** A place that is given back goes to the next in line without becoming free: nobody overtakes. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(unwanted());
      };
      this.#waiting.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }
}

function unwanted(): KubeError {
  return new KubeError("ABORTED", "the watch was not opened: it is not wanted any more");
}

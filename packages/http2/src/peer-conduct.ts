import { systemClock, TokenBucket, type Clock } from "@bunting/runtime";

/** PING and SETTINGS frames that a peer may send at once, and per second after that. */
const controlRate = { burst: 100, perSecond: 10 };
/** Streams that a client may have reset. */
const resetRate = { burst: 1_000, perSecond: 33 };
/** More bytes than the answers to a few PINGs: so something else was sent as well. */
const answerBytes = 64;

/** Counts what an ordinary client does now and then, and a hostile one all the time. */
export class PeerConduct {
  readonly #clock: Clock;
  #controlFrames: TokenBucket | undefined;
  #resets: TokenBucket | undefined;
  #sentBytes = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Counts a SETTINGS; true if they are a flood. What is sent after one may be what it has asked for, a byte on each stream. */
  countSettings(): boolean {
    return isOneTooMany((this.#controlFrames ??= new TokenBucket(this.#clock, controlRate)));
  }

  /**
   * Counts a PING; true if they are a flood: a peer that reads the answers could keep the process busy for ever. A client that measures its
   * bandwidth (grpc-go) sends a PING for nearly every DATA frame it gets, so PINGs that follow something we sent do not count.
   *
   * @param sentBytes on the connection so far
   */
  countControlFrame(sentBytes: number): boolean {
    const isAnswer = sentBytes - this.#sentBytes > answerBytes;
    this.#sentBytes = sentBytes;
    return !isAnswer && this.countSettings();
  }

  /**
   * Counts a stream that the client has reset (rapid resets, CVE-2023-44487), or that we have reset because of what the client has sent
   * ("MadeYouReset", CVE-2025-8671); true if it is one too many.
   */
  countReset(): boolean {
    return isOneTooMany((this.#resets ??= new TokenBucket(this.#clock, resetRate)));
  }
}

function isOneTooMany(bucket: TokenBucket): boolean {
  if (bucket.waitMs > 0) return true;
  bucket.take();
  return false;
}

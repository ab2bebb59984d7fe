import type { BackplaneError } from "../backplane-error.js";
import type { DocumentRoom } from "../record/document-room.js";
import { comparePositions, type RecordPosition } from "../record/position.js";

/** With comparisons every 15 s: ten minutes. */
const maxSkipped = 40;

/**
 * A record that can't be used, and whether it is worth another attempt. To read one of some kilobytes may take megabytes and a tenth of a second,
 * and whoever may write to Redis can plant any number of them. Who writes it anew announces that; comparisons are the net below that.
 */
export class RefusedRecord {
  readonly #neededBytes: number | undefined;
  readonly #room: DocumentRoom;
  #position: RecordPosition | undefined;
  #skipped = 0;
  #toSkip = 0;

  /** @param before what was refused of the topic before, if nothing could be read since */
  constructor({ neededBytes }: BackplaneError, room: DocumentRoom, before?: RefusedRecord) {
    this.#neededBytes = neededBytes;
    this.#room = room;
    if (before === undefined) return;
    this.#position = before.#position;
    this.#toSkip = Math.min(maxSkipped, 2 * before.#toSkip + 1);
  }

  /** Asked at each comparison, with where Redis is now. */
  isWorthReading(position: RecordPosition): boolean {
    const isSame = this.#position !== undefined && comparePositions(position, this.#position) === 0;
    this.#position = position;
    if (!isSame) {
      this.#toSkip = 0;
      return this.#neededBytes === undefined || this.#room.has(this.#neededBytes);
    }
    if (this.#neededBytes !== undefined) return this.#room.has(this.#neededBytes);
    return this.#skipped++ >= this.#toSkip;
  }
}

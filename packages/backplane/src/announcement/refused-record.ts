import type { DocumentRoom } from "@bunting/runtime";
import type { BackplaneError } from "../backplane-error.js";
import { comparePositions, type RecordPosition } from "../record/position.js";

/** The most comparisons between two attempts: ten minutes if they are 15 s apart. */
const maxSkipped = 40;

/**
 * The backoff of a record that can't be used. Reading a record of some kilobytes may take megabytes and a tenth of a
 * second, and anyone who may write to Redis can plant any number of them. A new record is announced; the retries here
 * only cover lost announcements.
 */
export class RefusedRecord {
  readonly #neededBytes: number | undefined;
  readonly #room: DocumentRoom;
  #position: RecordPosition | undefined;
  #skipped = 0;
  #toSkip = 0;

  /** @param before the refusal before this one, if no record of the topic could be read since */
  constructor({ neededBytes }: BackplaneError, room: DocumentRoom, before?: RefusedRecord) {
    this.#neededBytes = neededBytes;
    this.#room = room;
    if (before === undefined) return;
    this.#position = before.#position;
    this.#toSkip = Math.min(maxSkipped, 2 * before.#toSkip + 1);
  }

  /** True if the record deserves another attempt. To be called once for each comparison, with the position in Redis. */
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

import type { FlagDocument } from "@bunting/protocol";
import { Semaphore } from "@bunting/runtime";

/** From so many bytes on, a document takes long enough to hold everything else up: some 0.1 s for each megabyte of small flags. */
const largeBytes = 1024 * 1024;

/** Large documents are read in turns of the event loop, and one after the other, so that the heap is not promised to several at once. */
export class LargeDocuments {
  readonly #encode: (document: FlagDocument) => Promise<void>;
  readonly #reading = new Semaphore(1);

  /** @param encode does in turns most of what is to be done when the document is told */
  constructor(encode: (document: FlagDocument) => Promise<void> = () => Promise.resolve()) {
    this.#encode = encode;
  }

  isLarge(bytes: number): boolean {
    return bytes >= largeBytes;
  }

  /** Reads a document that is to be told right after. */
  async read(read: () => Promise<FlagDocument | undefined>): Promise<void> {
    await this.#reading.run(async () => {
      const document = await read();
      if (document !== undefined) await this.#encode(document);
    });
  }
}

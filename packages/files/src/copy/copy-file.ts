import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { appendFile, lstat, open, rename, rm, writeFile, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { makeDirectory } from "./make-directory.js";
import { sweepCopies, temporarySuffix } from "./sweep-copies.js";
import { UnusableCopyError } from "./unusable-copy-error.js";

/** A version of a document, as its source names it. */
export interface EncodedVersion {
  readonly encoded: Buffer;
}

export interface DocumentCopy<Version extends EncodedVersion> {
  readonly bytes: Buffer;
  /** The source's name for this document; undefined if it has none. */
  readonly version: Version | undefined;
}

export interface CopyFileOptions<Version extends EncodedVersion> {
  readonly directory: string;
  /** Everything that identifies the source. The file contains only a digest of it, because a URI may contain secrets. */
  readonly source: readonly string[];
  /** A longer document is not read. */
  readonly maxDocumentBytes: number;
  /** @throws Error if these bytes are no version */
  readonly decodeVersion: (encoded: Buffer) => Version;
}

export const copyFileSuffix = ".flags";
/** Copies that could not be used. */
export const refusedSuffix = ".refused";
const magic = "bunting-last-known-good 2";
/** A longer version is not written: no valid version is that long, and the header must stay short. */
const maxVersionBytes = 1024;
const maxHeaderBytes = 2048;
/** Content that the second process in a row writes into the marker which the first has left empty. */
const secondMark = "2";

/**
 * The last-known-good copy of one source's document, in a file of its own: a header line with format, source, length, checksum and version,
 * then the document as it came.
 *
 * The marker beside it, which stays if a load fails until `setAside`, tells whether processes survive loading the copy:
 *
 * - absent: no load is under way, or the last one ended well;
 * - empty: one load did not end;
 * - with `secondMark`: two in a row did not, and the copy is refused before it is read.
 */
export class CopyFile<Version extends EncodedVersion> {
  readonly path: string;
  readonly #sourceDigest: string;
  readonly #maxDocumentBytes: number;
  readonly #decodeVersion: (encoded: Buffer) => Version;
  /** Checksum of the document and version that are known to be in the file. */
  #checksumOnDisk: string | undefined;

  constructor({ directory, source, maxDocumentBytes, decodeVersion }: CopyFileOptions<Version>) {
    this.#maxDocumentBytes = maxDocumentBytes;
    this.#decodeVersion = decodeVersion;
    this.#sourceDigest = sha256(JSON.stringify(source));
    this.path = path.join(directory, `${this.#sourceDigest}${copyFileSuffix}`);
  }

  /**
   * Passes the document to `take`. A marker on disk shows the next process if this one does not survive reading it or taking it over.
   *
   * @returns what `take` returns; undefined if there is no file
   * @throws UnusableCopyError if the file can't be used; before it is read if two processes in a row have left their marker
   */
  async load<T>(take: (document: DocumentCopy<Version>) => T): Promise<T | undefined> {
    const file = await this.#open();
    if (file === undefined) {
      await this.#removeMarker().catch(() => undefined);
      return undefined;
    }
    let document: DocumentCopy<Version>;
    try {
      const size = await this.#sizeOf(file);
      await this.#leaveMarker();
      document = this.#parse(await readAtMost(file, size));
    } catch (cause) {
      const error =
        cause instanceof UnusableCopyError ? cause : this.#invalid((cause as Error).message, cause);
      if (error.isUnread) await this.#removeMarker().catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    const result = take(document);
    await this.#removeMarker().catch(() => undefined);
    return result;
  }

  async #open(): Promise<FileHandle | undefined> {
    try {
      // A named pipe would block until it has a writer, and a terminal would become that of this process.
      return await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#invalid((cause as Error).message, cause);
    }
  }

  async #sizeOf(file: FileHandle): Promise<number> {
    const stats = await file.stat();
    if (!stats.isFile()) throw this.#invalid("it is not a regular file");
    if (stats.size > this.#maxDocumentBytes + maxHeaderBytes)
      throw this.#invalid(
        `it has ${stats.size} bytes, and this process has memory for documents of ${this.#maxDocumentBytes}`,
      );
    return stats.size;
  }

  #parse(content: Buffer): DocumentCopy<Version> {
    const end = content.subarray(0, maxHeaderBytes).indexOf("\n");
    const header = end < 0 ? "" : content.toString("latin1", 0, end);
    if (!header.startsWith(`${magic} `)) throw this.#invalid("it was not written by this version of Bunting");
    const bytes = content.subarray(end + 1);
    const [source, length, checksum, encodedVersion = ""] = header.slice(magic.length + 1).split(" ");
    if (source !== this.#sourceDigest) throw this.#invalid("it belongs to another source");
    if (length !== String(bytes.length))
      throw this.#invalid(`it has ${bytes.length} of ${length ?? "?"} bytes`);
    if (checksum !== sha256(encodedVersion, "\n", bytes))
      throw this.#invalid("its content is not what was written");
    this.#checksumOnDisk = checksum;
    return { bytes, version: this.#readVersion(encodedVersion) };
  }

  /**
   * Replaces the file atomically. A reader always finds either the old or the new document, even after a crash.
   *
   * @returns the size of the file in bytes
   */
  async write({ bytes, version }: DocumentCopy<Version>): Promise<number> {
    const encodedVersion =
      version === undefined || version.encoded.length > maxVersionBytes
        ? ""
        : version.encoded.toString("base64");
    const checksum = sha256(encodedVersion, "\n", bytes);
    const header = `${magic} ${this.#sourceDigest} ${bytes.length} ${checksum} ${encodedVersion}\n`;
    const sizeBytes = header.length + bytes.length;
    if (checksum === this.#checksumOnDisk && (await this.#isThere(header, sizeBytes))) return sizeBytes;
    await makeDirectory(path.dirname(this.path));
    const temporary = `${this.path}.${randomUUID()}${temporarySuffix}`;
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        // Unlike write, it goes on after a part, which is all that an almost full disk may take.
        await file.writeFile(header);
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#replaceBy(temporary);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    this.#checksumOnDisk = checksum;
    await syncDirectory(path.dirname(this.path));
    return sizeBytes;
  }

  async #replaceBy(temporary: string): Promise<void> {
    try {
      await rename(temporary, this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
      // Only a file can be replaced, so no copy would ever be written.
      await this.setAside(error);
      await rename(temporary, this.path);
    }
  }

  /** False if something else has removed the file, or replaced it, perhaps by a document of the same size. */
  async #isThere(header: string, sizeBytes: number): Promise<boolean> {
    const file = await open(this.path).catch(() => undefined);
    try {
      if ((await file?.stat())?.size !== sizeBytes) return false;
      const found = await file?.read(Buffer.alloc(header.length));
      return found?.buffer.toString("latin1") === header;
    } catch {
      return false;
    } finally {
      await file?.close();
    }
  }

  get #marker(): string {
    return `${this.path}.loading`;
  }

  async #leaveMarker(): Promise<void> {
    try {
      await writeFile(this.#marker, "", { flag: "wx", mode: 0o600 });
    } catch (cause) {
      // In an unwritable directory there are no markers, so no crash is recognised.
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") return;
      // One process may have been killed for another reason, and the copy may be all that there is. Two in a row have ended of it.
      if (!(await this.#isMarkedOnce()))
        throw this.#invalid("two processes ended while they took it over", cause);
      await appendFile(this.#marker, secondMark);
    }
  }

  async #isMarkedOnce(): Promise<boolean> {
    const stats = await lstat(this.#marker);
    return stats.isFile() && stats.size === 0;
  }

  #removeMarker(): Promise<void> {
    // Also a directory of that name: it would keep every later copy from being loaded.
    return rm(this.#marker, { force: true, recursive: true });
  }

  /**
   * Renames the file so that it is not read again, and returns its new path; of each source one is kept. Undefined if that fails.
   *
   * @param error why it can't be used; a file that only could not be read stays, and may be all that there is
   */
  async setAside(error: unknown): Promise<string | undefined> {
    this.#checksumOnDisk = undefined;
    if (error instanceof UnusableCopyError && error.isUnread) return undefined;
    const refused = `${this.path}${refusedSuffix}`;
    try {
      // The path may be taken by a directory, which a file can't replace.
      await rename(this.path, refused).catch(async () => {
        await rm(refused, { force: true, recursive: true });
        await rename(this.path, refused);
      });
      await this.#removeMarker();
      return refused;
    } catch {
      return undefined;
    }
  }

  async remove(): Promise<void> {
    this.#checksumOnDisk = undefined;
    await rm(this.path, { force: true });
    await syncDirectory(path.dirname(this.path));
  }

  /** Removes temporary files of writers that were killed. */
  sweep(): Promise<void> {
    return sweepCopies(path.dirname(this.path), (name) => name.startsWith(`${path.basename(this.path)}.`));
  }

  #readVersion(encoded: string): Version | undefined {
    if (encoded === "") return undefined;
    try {
      return this.#decodeVersion(Buffer.from(encoded, "base64"));
    } catch (cause) {
      throw this.#invalid(`its version is invalid: ${(cause as Error).message}`, cause);
    }
  }

  #invalid(what: string, cause?: unknown): UnusableCopyError {
    return new UnusableCopyError(`${this.path} can't be used: ${what}`, { cause });
  }
}

/** Reads a regular file of this size; less if it has become shorter. */
async function readAtMost(file: FileHandle, sizeBytes: number): Promise<Buffer> {
  const content = Buffer.allocUnsafe(sizeBytes);
  let length = 0;
  while (length < sizeBytes) {
    const { bytesRead } = await file.read(content, length, sizeBytes - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

/** Makes a rename survive a power failure. Not every file system supports this. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    const handle = await open(directory, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // The document is complete on disk; only a power failure within these milliseconds could lose it.
  }
}

function sha256(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

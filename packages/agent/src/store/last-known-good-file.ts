import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { AgentError } from "../agent-error.js";

/** What a cached document is of. Two sources that agree in all of it have the same flags, and may share a file. */
export interface CachedSource {
  readonly provider: string;
  readonly uri: string;
  readonly selector: string;
}

const magic = "bunting-last-known-good 1";
const maxHeaderBytes = 256;
/** No write takes this long. */
const leftoverAgeMs = 60_000;

/**
 * One document on disk, in a file of its own: a line that says what it is, of which source, how long and with which digest, then the
 * document as it came. The name and the line hold a digest of the source only: a URI may carry secrets.
 */
export class LastKnownGoodFile {
  readonly path: string;
  readonly #sourceDigest: string;
  /** Of the document that is known to be in the file. */
  #digestOnDisk: string | undefined;

  constructor(directory: string, { provider, uri, selector }: CachedSource) {
    this.#sourceDigest = sha256(JSON.stringify([provider, uri, selector]));
    this.path = path.join(directory, `${this.#sourceDigest}.flags`);
  }

  /**
   * The document; undefined if there is no file.
   *
   * @throws AgentError CACHE_INVALID if what is there can't be used.
   */
  async read(): Promise<Buffer | undefined> {
    let content: Buffer;
    try {
      content = await readFile(this.path);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#invalid((cause as Error).message, cause);
    }
    const end = content.subarray(0, maxHeaderBytes).indexOf("\n");
    const header = end < 0 ? "" : content.toString("latin1", 0, end);
    if (!header.startsWith(`${magic} `))
      throw this.#invalid("it was not written by this version of the agent");
    const document = content.subarray(end + 1);
    const [source, length, digest] = header.slice(magic.length + 1).split(" ");
    if (source !== this.#sourceDigest) throw this.#invalid("it is of another source");
    if (length !== String(document.length))
      throw this.#invalid(`it has ${document.length} of ${length ?? "?"} bytes`);
    if (digest !== sha256(document)) throw this.#invalid("its content is not what was written");
    this.#digestOnDisk = digest;
    return document;
  }

  /** Whoever reads the file, at any moment and after any crash, finds the document before or this one. */
  async write(document: Buffer): Promise<void> {
    const digest = sha256(document);
    if (digest === this.#digestOnDisk) return;
    await mkdir(path.dirname(this.path), { recursive: true });
    const temporary = `${this.path}.${randomUUID()}.tmp`;
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.write(`${magic} ${this.#sourceDigest} ${document.length} ${digest}\n`);
        await file.writeFile(document);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    this.#digestOnDisk = digest;
    await syncDirectory(path.dirname(this.path));
  }

  /** Removes what a writer that was killed left behind. */
  async sweep(): Promise<void> {
    const directory = path.dirname(this.path);
    const isOurs = (name: string): boolean =>
      name.startsWith(`${path.basename(this.path)}.`) && name.endsWith(".tmp");
    try {
      for (const name of (await readdir(directory)).filter(isOurs)) {
        const leftover = path.join(directory, name);
        const { mtimeMs } = await stat(leftover);
        // A younger one may be in the making, by another agent on the same volume.
        if (Date.now() - mtimeMs > leftoverAgeMs) await rm(leftover, { force: true });
      }
    } catch {
      // Leftovers do no harm.
    }
  }

  #invalid(what: string, cause?: unknown): AgentError {
    return new AgentError("CACHE_INVALID", `${this.path} can't be used: ${what}`, { cause });
  }
}

/** Makes a rename last through a power cut. Not every file system can. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    const handle = await open(directory, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // The document is there and whole; only its survival of a power cut in these milliseconds is not certain.
  }
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

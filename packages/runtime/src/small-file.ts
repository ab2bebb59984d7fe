import { readFile, stat } from "node:fs/promises";
import { errorCode } from "./error-code.js";

/**
 * Reads a file of a mounted Secret or the like.
 *
 * @throws Error with the reason alone, which is neither the path nor anything of the content
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer> {
  try {
    const stats = await stat(path);
    // Opening a FIFO would wait for its writer.
    if (!stats.isFile()) throw new Error("it is no regular file");
    if (stats.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return await readFile(path);
  } catch (cause) {
    throw new Error(errorCode(cause) ?? (cause as Error).message, { cause });
  }
}

/**
 * Reads a file of PEM that must have at least one block of the kind: of a file without any, OpenSSL makes no authorities, and says nothing.
 *
 * @throws Error with the reason alone, as `readSmallFile`
 */
export async function readPemFile(
  path: string,
  kind: "certificate" | "private key",
  maxBytes: number,
): Promise<Buffer> {
  const pem = await readSmallFile(path, maxBytes);
  if (new RegExp(`-----BEGIN [A-Z0-9 ]*${kind.toUpperCase()}-----`).test(pem.toString("latin1"))) return pem;
  throw new Error(`it has no ${kind} in PEM`);
}

/** Changes whenever the file does. Those of a mounted Secret are replaced by a link to another directory. */
export async function stampOfFile(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    return errorCode(error) ?? "unreadable";
  }
}

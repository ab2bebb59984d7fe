import { constants, createReadStream, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { maxManifestBytes } from "@bunting/featureflags/manifests";
import { errorCode, messageOf } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { Io } from "../terminal/io.js";

/** How the standard input is named on the command line. */
export const standardInput = "-";

/** What findings and errors call an input. */
export function nameOf(path: string): string {
  return path === standardInput ? "<stdin>" : path;
}

/**
 * Reads a file, or the standard input for `-`.
 *
 * @throws CliError INPUT_UNREADABLE; INPUT_INVALID if it has more bytes than the proxy reads
 */
export async function readInput(path: string, io: Pick<Io, "stdin" | "signal">): Promise<Buffer> {
  const bytes = await readInputStart(path, io);
  if (bytes.length <= maxManifestBytes) return bytes;
  throw CliError.inputInvalid(`${nameOf(path)} has more than ${maxManifestBytes} bytes: split it`);
}

/**
 * The same, but of what is too large so much that it shows.
 *
 * @throws CliError INPUT_UNREADABLE
 */
export async function readInputStart(path: string, io: Pick<Io, "stdin" | "signal">): Promise<Buffer> {
  if (path === standardInput) return readStart(io.stdin, io.signal);
  try {
    const stats = await stat(path);
    // The one byte more shows that it is too large.
    if (stats.size > maxManifestBytes) return Buffer.alloc(maxManifestBytes + 1);
    const stream = stats.isFIFO() ? openPipe(path) : createReadStream(path, { end: maxManifestBytes });
    return await readStart(stream, io.signal);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/**
 * A pipe such as that of `<(kubectl get …)`, read by the event loop: a thread that waits in open or read can't be interrupted, and would keep the
 * process alive after Ctrl-C. A pipe that nothing has written to yet is waited for, as `cat` does.
 */
function openPipe(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** Reads to the end, or to just above the limit: a device such as /dev/zero has no end. */
async function readStart(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = (): void => void stream.destroy();
  signal.addEventListener("abort", stop, { once: true });
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > maxManifestBytes) break;
  }
  signal.removeEventListener("abort", stop);
  return Buffer.concat(chunks);
}

/** The sentence for a path that can't be read. */
export function unreadable(path: string, cause: unknown): CliError {
  const code = errorCode(cause);
  const message =
    code === "ENOENT"
      ? `there is no file or directory ${path}`
      : `${path} can't be read: ${messageOf(cause)}`;
  return new CliError("INPUT_UNREADABLE", message, { cause });
}

import { lstat, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { errorCode } from "@bunting/runtime";
import { maxSocketPathBytes } from "./listen-endpoint.js";

/**
 * Clears `path` for a unix socket. A socket file that refuses connections was left behind by a killed process, and is removed. A socket
 * in use, or a file of another kind, is left alone: rejects with EADDRINUSE or EEXIST.
 */
export async function clearSocketPath(path: string): Promise<void> {
  // The system would truncate the path and create the socket elsewhere.
  if (Buffer.byteLength(path) > maxSocketPathBytes) throw withCode("ENAMETOOLONG", "path too long");
  // bind() itself reports EACCES for a missing directory, as if it existed.
  if (!(await stat(dirname(path))).isDirectory()) throw withCode("ENOTDIR", "not a directory");
  const stats = await lstat(path).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw withCode("EEXIST", "not a socket");
  const refusal = await connectionRefusal(path);
  if (refusal === "ENOENT") return;
  if (refusal !== "ECONNREFUSED") throw withCode(refusal ?? "EADDRINUSE", "the socket is in use");
  await unlink(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
}

/** The error code of a connect to `path`; undefined if it succeeds. */
function connectionRefusal(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const settle = (code: string | undefined): void => {
      probe.destroy();
      resolve(code);
    };
    probe.once("connect", () => settle(undefined));
    probe.once("error", (error) => settle(errorCode(error)));
  });
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

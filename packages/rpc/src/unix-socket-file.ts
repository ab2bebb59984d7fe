import { lstat, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { maxSocketPathBytes } from "./listen-endpoint.js";

/**
 * Makes way for a unix socket at `path`. A socket file that nobody answers on is what a killed process left behind, and goes; a live
 * one, or a file of another kind, is not ours to remove: rejects with EADDRINUSE or EEXIST.
 */
export async function clearSocketPath(path: string): Promise<void> {
  // The system would cut the path off and create the socket elsewhere.
  if (Buffer.byteLength(path) > maxSocketPathBytes) throw withCode("ENAMETOOLONG", "path too long");
  // Bind itself would call a missing directory EACCES, as if it were there.
  if (!(await stat(dirname(path))).isDirectory()) throw withCode("ENOTDIR", "not a directory");
  const stats = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw withCode("EEXIST", "not a socket");
  const refusal = await connectionRefusal(path);
  if (refusal === "ENOENT") return;
  if (refusal !== "ECONNREFUSED") throw withCode(refusal ?? "EADDRINUSE", "the socket is in use");
  await unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

/** The error code a connect to `path` meets; undefined if it succeeds. */
function connectionRefusal(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const settle = (code: string | undefined): void => {
      probe.destroy();
      resolve(code);
    };
    probe.once("connect", () => settle(undefined));
    probe.once("error", (error) => settle(codeOf(error)));
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

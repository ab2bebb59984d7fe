import { chmod, lchown, lstat, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { errorCode } from "@bunting/runtime";
import { maxSocketPathBytes, notOwner, notSocket, type SocketEndpoint } from "./listen-endpoint.js";

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

/**
 * Calls `bind` so that the file of a socket never has more permissions than `mode`: it gets those that the umask leaves. Binding to a path is done
 * when the call returns.
 */
export function bindWithMode<Result>(mode: number | undefined, bind: () => Result): Result {
  if (mode === undefined) return bind();
  const umask = process.umask(0o777);
  try {
    // Other threads may create files meanwhile: theirs get no more permissions than before.
    process.umask(umask | (0o777 & ~mode));
    return bind();
  } finally {
    process.umask(umask);
  }
}

/**
 * Sets owners, then the mode, unless the umask has left it as it should be. Others may write to the directory, and put something else in place
 * of the socket: so no link is followed, and only a socket is changed. Rejects with the code of `notOwner` if the process may not set the owners,
 * with that of `notSocket` if something else is there.
 */
export async function setOwnership({ socketPath, mode, uid = -1, gid = -1 }: SocketEndpoint): Promise<void> {
  const setsOwners = uid !== -1 || gid !== -1;
  if (!setsOwners && mode === undefined) return;
  const { ino, permissions } = await socketAt(socketPath);
  if (setsOwners) {
    await lchown(socketPath, uid, gid).catch((error: unknown) => {
      throw errorCode(error) === "EPERM" ? withCode(notOwner, "not permitted") : error;
    });
    if ((await socketAt(socketPath)).ino !== ino)
      throw withCode(notSocket, "not the socket that was created");
  }
  // There is no chmod that leaves links alone; so it comes at once after the look, and only where it has to.
  if (mode !== undefined && permissions !== mode) await chmod(socketPath, mode);
}

async function socketAt(path: string): Promise<{ readonly ino: number; readonly permissions: number }> {
  const stats = await lstat(path);
  if (!stats.isSocket()) throw withCode(notSocket, "not a socket");
  return { ino: stats.ino, permissions: stats.mode & 0o7777 };
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

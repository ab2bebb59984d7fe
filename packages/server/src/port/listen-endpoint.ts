import { dirname } from "node:path";
import { errorCode, hostAndPort, messageOf } from "@bunting/runtime";

/** Where to listen: a TCP port (0: any free one), or a unix socket. */
export type ListenEndpoint = { readonly port: number; readonly host?: string | undefined } | SocketEndpoint;

/** A unix socket with the mode and the owners of its file; -1, as without, leaves an owner. */
export interface SocketEndpoint {
  readonly socketPath: string;
  readonly mode?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

/** The code of the error if the owners of a socket can't be set. */
export const notOwner = "ENOTOWNER";

/** The code of the error if the file at the path is not the socket that was created. */
export const notSocket = "ENOTSOCKET";

/** The longest path of a unix socket on Linux (108 bytes with the terminating zero). */
export const maxSocketPathBytes = 107;

export function describeEndpoint(endpoint: ListenEndpoint): string {
  if ("socketPath" in endpoint) return `unix:${endpoint.socketPath}`;
  return hostAndPort(endpoint.host ?? "::", endpoint.port);
}

/** Says why the endpoint can't be listened on, and what to do about it. `optionName` is the option that sets it, for instance `--port`. */
export function describeBindError(error: unknown, endpoint: ListenEndpoint, optionName?: string): string {
  const choose = optionName === undefined ? "" : ` with ${optionName}`;
  const code = errorCode(error) ?? "";
  return "socketPath" in endpoint
    ? describeSocketError(code, error, endpoint.socketPath, choose)
    : describePortError(code, error, endpoint, choose);
}

function describePortError(
  code: string,
  error: unknown,
  endpoint: Extract<ListenEndpoint, { readonly port: number }>,
  choose: string,
): string {
  const where = `port ${endpoint.port}${endpoint.host === undefined ? "" : ` of ${endpoint.host}`}`;
  switch (code) {
    case "EADDRINUSE":
      return `${where} is taken by another process: stop that one, or choose another port${choose}`;
    case "EACCES":
    case "EPERM":
      return `${where} may not be used by this user: choose a port of 1024 or above${choose}`;
    case "EADDRNOTAVAIL":
      return `${endpoint.host ?? "that host"} is no address of this machine: choose one that is, or leave out --host`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host name ${endpoint.host ?? ""} can't be resolved: give an IP address, or leave out --host`;
    default:
      return `can't listen on ${where}: ${messageOf(error)}`;
  }
}

function describeSocketError(code: string, error: unknown, path: string, choose: string): string {
  switch (code) {
    case "EADDRINUSE":
      return `another process listens on the socket ${path}: stop that one, or choose another path${choose}`;
    case "EEXIST":
      return `${path} exists and is no socket: it is left alone; remove it, or choose another path${choose}`;
    case "ENAMETOOLONG":
      return `the socket path ${path} has ${Buffer.byteLength(path)} bytes, the system allows ${maxSocketPathBytes}: choose a shorter one${choose}`;
    case "ENOENT":
    case "ENOTDIR":
      return `there is no directory ${dirname(path)} for the socket ${path}: create it, or choose another path${choose}`;
    case "EACCES":
    case "EPERM":
      return `this user may not create the socket ${path}: make ${dirname(path)} writable for it, or choose another path${choose}`;
    case notOwner:
      return `this user may not give the socket ${path} to that user or group: choose a group that the process belongs to, such as the fsGroup of its Pod, or leave the owner out`;
    case notSocket:
      return `another process has replaced the socket ${path} while it was created: choose a directory that only this user may write to${choose.replace(/^ /, ", ")}`;
    case "EROFS":
      return `the socket ${path} would lie on a read-only file system: mount a writable volume there, or choose another path${choose}`;
    default:
      return `can't listen on the socket ${path}: ${messageOf(error)}`;
  }
}

import { readSmallFile } from "@bunting/runtime";

/** The servers that a token is meant for, as its owner says: whoever names the token's file may name other servers. */
export interface TokenBinding {
  /** A file with their names, separated by white space or commas. */
  readonly hostsFile: string;
  /** The server that would receive the token: `https://HOST:PORT`, whatever is spoken over TLS, or `http://HOST:PORT` in plaintext. */
  readonly server: string;
}

const maxFileBytes = 16 * 1024;

/** @throws Error that says what to change, if the token is not meant for the server, or if nobody says that it is */
export async function checkTokenBinding({ hostsFile, server }: TokenBinding): Promise<void> {
  const content = await readSmallFile(hostsFile, maxFileBytes).catch((cause: unknown) => {
    throw new Error(
      `no token is sent to ${server}, because ${hostsFile}, which has to name its host, can't be read (${(cause as Error).message})`,
      { cause },
    );
  });
  if (isMeantFor(server, content.toString())) return;
  const name = server.replace(/^https:\/\//, "");
  throw new Error(`no token is sent to ${server}, because ${hostsFile} does not name it: add ${name} there`);
}

/**
 * True if a text has the server.
 *
 * @param hosts `HOST` and `HOST:PORT` for servers that are reached over TLS, and `http://` before it for those that are not
 */
export function isMeantFor(server: string, hosts: string): boolean {
  if (!URL.canParse(server)) return false;
  const asked = new URL(server);
  return hosts.split(/[\s,]+/).some((entry) => {
    const [, scheme = "https://", host = "", port] = nameOfServer.exec(entry) ?? [];
    if (!URL.canParse(`${scheme}${host}${port ?? ""}`)) return false;
    const named = new URL(`${scheme}${host}${port ?? ""}`);
    if (named.protocol !== asked.protocol || named.hostname !== asked.hostname) return false;
    return port === undefined || portOf(named) === portOf(asked);
  });
}

const nameOfServer = /^(https?:\/\/)?(\[[^\]/?#@]+\]|[^[/?#@:]+)(:\d+)?\/?$/i;

function portOf({ port, protocol }: URL): string {
  if (port !== "") return port;
  return protocol === "https:" ? "443" : "80";
}

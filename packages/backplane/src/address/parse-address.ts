import { quoted } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

export interface BackplaneAddress {
  /** The hosts of Redis itself, or of the Sentinels that know the master. */
  readonly hosts: readonly HostAndPort[];
  /** The name by which the Sentinels know the master; absent without Sentinels. */
  readonly masterName?: string;
  /** True if connections use TLS, to Sentinels as well. */
  readonly isTls: boolean;
  readonly database: number;
}

const forms =
  "redis://HOST:PORT[/DATABASE], rediss://… for TLS, or redis+sentinel://HOST:PORT,HOST:PORT/MASTER-NAME[/DATABASE]";
const schemes: Readonly<Record<string, { readonly isTls: boolean; readonly isSentinel: boolean }>> = {
  redis: { isTls: false, isSentinel: false },
  rediss: { isTls: true, isSentinel: false },
  "redis+sentinel": { isTls: false, isSentinel: true },
  "rediss+sentinel": { isTls: true, isSentinel: true },
};
const redisPort = 6379;
const sentinelPort = 26379;
const maxHosts = 16;
/** Redis has 16 unless it is configured otherwise. */
const maxDatabase = 65_535;

/**
 * Reads the address of Redis.
 *
 * @throws BackplaneError ADDRESS_INVALID. The message does not repeat an address with a password.
 */
export function parseAddress(text: string): BackplaneAddress {
  const parts = /^([a-z+]+):\/\/([^/?#]*)(\/[^?#]*)?([?#].*)?$/s.exec(text);
  const scheme = schemes[parts?.[1] ?? ""];
  const authority = parts?.[2] ?? "";
  if (text.includes("@"))
    throw invalid(
      "it contains credentials, which every list of processes would show: put the user and the password into files",
    );
  // Parameters may be a password.
  const shown = quoted(text.replace(/[?#].*$/s, ""));
  if (parts === null || scheme === undefined) throw invalid(`${shown} is not of the form ${forms}`);
  if (parts[4] !== undefined)
    throw invalid(
      `after ${shown} come parameters, and an address has none: what they say has options of its own`,
    );
  const hosts = authority
    .split(",")
    .map((host) => parseHost(host, scheme.isSentinel ? sentinelPort : redisPort));
  const path = (parts[3] ?? "").split("/").slice(1);
  if (path.at(-1) === "") path.pop();
  if (!scheme.isSentinel) return direct(hosts, path, scheme.isTls);
  const [masterName = "", database, ...rest] = path;
  if (masterName === "" || rest.length > 0)
    throw invalid(
      `${quoted(text)} does not name the master: the address of Sentinels ends with /MASTER-NAME or /MASTER-NAME/DATABASE`,
    );
  if (!/^[\w.-]{1,128}$/.test(masterName))
    throw invalid(
      `${quoted(masterName)} can't be the name of a master: it has letters, digits, points, dashes and underscores`,
    );
  if (hosts.length > maxHosts) throw invalid(`it has ${hosts.length} Sentinels; ${maxHosts} are the most`);
  return Object.freeze({ hosts, masterName, isTls: scheme.isTls, database: parseDatabase(database) });
}

function direct(hosts: readonly HostAndPort[], path: readonly string[], isTls: boolean): BackplaneAddress {
  if (hosts.length > 1)
    throw invalid(
      "it names more than one Redis: name the one to write to, or its Sentinels with redis+sentinel://",
    );
  if (path.length > 1)
    throw invalid(
      `${quoted(path.join("/"))} can't be a database: after the port comes its number, or nothing`,
    );
  return Object.freeze({ hosts, isTls, database: parseDatabase(path[0]) });
}

function parseHost(text: string, defaultPort: number): HostAndPort {
  const parts = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text);
  if (parts === null)
    throw invalid(
      `${quoted(text)} is not HOST or HOST:PORT; an IPv6 address is in brackets, as in [::1]:6379`,
    );
  const port = Number(parts[3] ?? defaultPort);
  if (port < 1 || port > 65_535) throw invalid(`${port} can't be a port: ports are 1 to 65535`);
  return Object.freeze({ host: parts[1] ?? parts[2] ?? "", port });
}

function parseDatabase(text: string | undefined): number {
  if (text === undefined) return 0;
  const database = Number(text);
  if (!/^\d{1,5}$/.test(text) || database > maxDatabase)
    throw invalid(`${quoted(text)} can't be a database: databases are numbers from 0`);
  return database;
}

function invalid(what: string): BackplaneError {
  return new BackplaneError("ADDRESS_INVALID", `the address of Redis can't be used: ${what}`);
}

import { createSecureContext } from "node:tls";
import type { RedisOptions } from "ioredis";
import { readPemFile, readSmallFile } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";

export interface RedisCredentials {
  readonly user?: string;
  readonly password?: string;
}

/** The contents of the files that a connection needs. */
export interface ConnectionFiles {
  readonly redis: RedisCredentials;
  readonly sentinel: RedisCredentials;
  readonly tls: NonNullable<RedisOptions["tls"]> | undefined;
}

const maxSecretBytes = 64 * 1024;
const maxTlsBytes = 1024 * 1024;

/** Reads all files again: a rotated Secret counts for the next connection. Rejects with FILE_UNREADABLE, and names the file. */
export async function readConnectionFiles(options: CheckedOptions): Promise<ConnectionFiles> {
  const { address, userFile, passwordFile, sentinelUserFile, sentinelPasswordFile } = options;
  const [redis, sentinel, tls] = await Promise.all([
    readCredentials(userFile, passwordFile),
    readCredentials(sentinelUserFile, sentinelPasswordFile),
    address.isTls ? readTls(options) : undefined,
  ]);
  return { redis, sentinel, tls };
}

async function readCredentials(userFile?: string, passwordFile?: string): Promise<RedisCredentials> {
  const [user, password] = await Promise.all([readLine(userFile), readLine(passwordFile)]);
  return { ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { password }) };
}

/** Editors and `kubectl create secret --from-file` leave a line feed at the end, which is not meant. */
async function readLine(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const content = await readSmallFile(path, maxSecretBytes).catch((error: unknown) => unusable(path, error));
  const line = content.toString().replace(/\r?\n$/, "");
  return line === "" ? unusable(path, new Error("it is empty")) : line;
}

async function readTls(options: CheckedOptions): Promise<ConnectionFiles["tls"]> {
  const { tlsCaFile, tlsCertFile, tlsKeyFile, tlsServerName } = options;
  const [ca, cert, key] = await Promise.all([
    readPem(tlsCaFile, "certificate"),
    readPem(tlsCertFile, "certificate"),
    readPem(tlsKeyFile, "private key"),
  ]);
  if (cert !== undefined && key !== undefined)
    try {
      createSecureContext({ cert, key });
    } catch (error) {
      unusable(`${tlsCertFile ?? ""} with ${tlsKeyFile ?? ""}`, error);
    }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  };
}

async function readPem(
  path: string | undefined,
  kind: "certificate" | "private key",
): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  return readPemFile(path, kind, maxTlsBytes).catch((error: unknown) => unusable(path, error));
}

function unusable(path: string, cause: unknown): never {
  const why = (cause as Error).message;
  throw new BackplaneError("FILE_UNREADABLE", `the file ${path} can't be used: ${why}`, { cause });
}

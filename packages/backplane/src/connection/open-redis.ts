import { Redis } from "ioredis";
import type { HostAndPort } from "../address/parse-address.js";
import { BackplaneError } from "../backplane-error.js";
import type { ConnectionFiles, RedisCredentials } from "./connection-files.js";

/** A step on the way to a connection that can be used; rejects as a command does. */
export type Step = (command: string, args: readonly string[]) => Promise<unknown>;

export interface NewRedisOptions extends HostAndPort {
  /** The name of the connection in Redis; absent for none. */
  readonly name?: string;
  readonly tls: ConnectionFiles["tls"];
  readonly connectTimeoutMs: number;
}

/**
 * One connection to Redis or to a Sentinel, which is not replaced when it ends and repeats nothing: a command that is sent twice would be
 * executed twice, and who uses a connection has to know that it is another one.
 */
export function newRedis({ host, port, name, tls, connectTimeoutMs }: NewRedisOptions): Redis {
  return new Redis({
    host,
    port,
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // prepare() checks more.
    enableReadyCheck: false,
    disableClientInfo: true,
    ...(name === undefined ? {} : { connectionName: name }),
    connectTimeout: connectTimeoutMs,
    keepAlive: keepAliveMs,
    disconnectTimeout: disconnectTimeoutMs,
    ...(tls === undefined ? {} : { tls }),
  });
}

/** Presents the user, selects the database, and makes sure that this Redis can be written to: after a failover it may be a replica. */
export async function prepareRedis(
  call: Step,
  credentials: RedisCredentials,
  database: number,
): Promise<void> {
  await authenticate(call, credentials);
  if (database !== 0) await call("SELECT", [String(database)]);
  const [role] = (await call("ROLE", [])) as readonly unknown[];
  if (String(role) === "sentinel")
    throw new BackplaneError(
      "REDIS_FAILED",
      "what answers is a Sentinel: write redis+sentinel://HOST:PORT/MASTER-NAME in --backplane",
    );
  if (String(role) !== "master")
    throw new BackplaneError(
      "REDIS_READ_ONLY",
      "what answers is a replica of Redis: name the master, or the Sentinels that know it",
    );
}

/** Presents the user and the password, if there is one. */
export async function authenticate(call: Step, { user, password }: RedisCredentials): Promise<void> {
  if (password === undefined) return;
  try {
    await call("AUTH", user === undefined ? [password] : [user, password]);
  } catch (error) {
    // Redis has no password and refuses any: its operator is about to set one, or has removed it.
    if (/without any password configured|no password is set/.test((error as Error).message)) return;
    throw error;
  }
}

const keepAliveMs = 10_000;
/** Time after which an unused connection to a Redis that hangs is destroyed. */
const disconnectTimeoutMs = 50;

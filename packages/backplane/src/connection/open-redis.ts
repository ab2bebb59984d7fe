import { Redis, type RedisOptions } from "ioredis";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";
import type { ConnectionFiles, Credentials } from "./connection-files.js";
import { fromRedisError } from "./redis-error.js";

/** A step on the way to a connection that can be used; rejects as a command does. */
type Step = (command: string, args: readonly string[]) => Promise<unknown>;

/**
 * One connection to Redis, which is not replaced when it ends and repeats nothing: a command that is sent twice would be executed twice,
 * and who uses a connection has to know that it is another one.
 */
export function newRedis(options: CheckedOptions, files: ConnectionFiles, name: string): Redis {
  const { address, connectTimeoutMs } = options;
  const common: RedisOptions = {
    lazyConnect: true,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    sentinelReconnectStrategy: () => null,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // prepare() checks more.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectionName: name,
    connectTimeout: connectTimeoutMs,
    keepAlive: keepAliveMs,
    disconnectTimeout: disconnectTimeoutMs,
    ...(files.tls === undefined ? {} : { tls: files.tls }),
  };
  if (address.masterName === undefined) return new Redis({ ...common, ...address.hosts[0] });
  const { user, password } = files.sentinel;
  return new Redis({
    ...common,
    sentinels: [...address.hosts],
    name: address.masterName,
    sentinelCommandTimeout: options.commandTimeoutMs,
    ...(user === undefined ? {} : { sentinelUsername: user }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(files.tls === undefined ? {} : { sentinelTLS: files.tls, enableTLSForSentinelMode: true }),
  });
}

/** Presents the user, selects the database, and makes sure that this Redis can be written to: after a failover it may be a replica. */
export async function prepareRedis(call: Step, credentials: Credentials, database: number): Promise<void> {
  const { user, password } = credentials;
  if (password !== undefined) await authenticate(call, user === undefined ? [password] : [user, password]);
  if (database !== 0) await call("SELECT", [String(database)]);
  const [role] = (await call("ROLE", [])) as readonly unknown[];
  if (String(role) !== "master")
    throw new BackplaneError(
      "REDIS_READ_ONLY",
      "what answers is a replica of Redis: name the master, or the Sentinels that know it",
    );
}

async function authenticate(call: Step, args: readonly string[]): Promise<void> {
  try {
    await call("AUTH", args);
  } catch (cause) {
    const error = fromRedisError(cause);
    // Redis has no password, and says so to whoever presents one: its operator will give it one, or has taken it away.
    if (/without any password configured|no password is set/.test(error.message)) return;
    throw error;
  }
}

const keepAliveMs = 10_000;
/** How long a Redis that is stopped may keep a connection that nobody uses any more. */
const disconnectTimeoutMs = 50;

import { cut, hostAndPort, type Clock } from "@bunting/runtime";
import type { Redis } from "ioredis";
import type { BackplaneAddress, HostAndPort } from "../address/parse-address.js";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";
import type { ConnectionFiles, RedisCredentials } from "./connection-files.js";
import { authenticate, newRedis, type Step } from "./open-redis.js";
import { fromRedisError } from "./redis-error.js";
import { ReplyGuard } from "./reply-guard.js";
import { withDeadline } from "./with-deadline.js";

/** A Sentinel says no more than where the master is. */
const maxReplyBytes = 64 * 1024;
/** Characters of the reason of each. */
const maxReason = 300;

export interface FindMasterOptions {
  readonly options: CheckedOptions;
  readonly files: ConnectionFiles;
  /** Number of earlier attempts. */
  readonly attempt: number;
  readonly clock: Clock;
}

/**
 * Asks the Sentinels for the master, one after the other, beginning with another one at each attempt. A Sentinel that can't be
 * reached, or does not know, is passed over. Rejects with REDIS_AWAY if none knows.
 */
export async function findMaster(given: FindMasterOptions, signal: AbortSignal): Promise<HostAndPort> {
  const { hosts, masterName = "" } = given.options.address;
  const failures: string[] = [];
  for (let index = 0; index < hosts.length && !signal.aborted; index++) {
    const sentinel = hosts[(given.attempt + index) % hosts.length];
    if (sentinel === undefined) break;
    try {
      return await askSentinel(sentinel, given, signal);
    } catch (error) {
      const { host, port } = sentinel;
      const reason = cut(fromRedisError(error, "the Sentinel").message, maxReason);
      failures.push(`${hostAndPort(host, port)}: ${reason}`);
    }
  }
  const message = `no Sentinel says where the master ${masterName} is: ${failures.join("; ")}`;
  throw new BackplaneError("REDIS_AWAY", message);
}

async function askSentinel(
  sentinel: HostAndPort,
  { options, files, clock }: FindMasterOptions,
  signal: AbortSignal,
): Promise<HostAndPort> {
  const { address, connectTimeoutMs } = options;
  // All of them have a turn in the time that a connection may take.
  const shareMs = Math.ceil(connectTimeoutMs / address.hosts.length);
  const redis = newRedis({ ...sentinel, tls: files.tls, connectTimeoutMs: shareMs });
  new ReplyGuard(maxReplyBytes).watch(redis);
  // The error of the socket says more than the error of a command.
  let lastError: Error | undefined;
  redis.on("error", (error: Error) => (lastError = error));
  const stop = (): void => redis.disconnect();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const late = (): Error =>
      new BackplaneError("REDIS_TIMEOUT", `the Sentinel did not answer within ${shareMs} ms`);
    return await withDeadline(askOpened(redis, files.sentinel, address), shareMs, clock, late);
  } catch (error) {
    throw error instanceof BackplaneError ? error : (lastError ?? error);
  } finally {
    signal.removeEventListener("abort", stop);
    redis.disconnect();
  }
}

async function askOpened(
  redis: Redis,
  credentials: RedisCredentials,
  { masterName = "" }: BackplaneAddress,
): Promise<HostAndPort> {
  await redis.connect();
  const step: Step = (command, args) => redis.callBuffer(command, ...args);
  await authenticate(step, credentials);
  return readMaster(await step("SENTINEL", ["get-master-addr-by-name", masterName]));
}

function readMaster(answer: unknown): HostAndPort {
  const [host = "", port = ""] = Array.isArray(answer) ? answer.map(String) : [];
  if (host === "" || host.length > 255 || !/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
    throw new BackplaneError("REDIS_FAILED", "the Sentinel does not know it");
  return { host, port: Number(port) };
}

import { BackplaneError, type BackplaneErrorCode } from "../backplane-error.js";

/** The first word of an error's text is its code in Redis. */
const codes: Readonly<Record<string, BackplaneErrorCode>> = {
  NOAUTH: "REDIS_DENIED",
  WRONGPASS: "REDIS_DENIED",
  NOPERM: "REDIS_DENIED",
  OOM: "REDIS_FULL",
  READONLY: "REDIS_READ_ONLY",
  LOADING: "REDIS_NOT_READY",
  BUSY: "REDIS_NOT_READY",
  MASTERDOWN: "REDIS_NOT_READY",
  MISCONF: "REDIS_NOT_READY",
  NOREPLICAS: "REDIS_NOT_READY",
};

/** Characters of a refusal; Redis itself says less. */
const maxMessage = 500;

/** Whatever a command failed with, in the codes of this package. */
export function fromRedisError(error: unknown): BackplaneError {
  if (error instanceof BackplaneError) return error;
  const { name, message } = error as Error;
  if (name !== "ReplyError")
    return new BackplaneError("REDIS_AWAY", `there is no connection to Redis: ${message}`, { cause: error });
  // Redis 6 puts the code of a command inside of a script behind the place in the script.
  const word = / -([A-Z]+) /.exec(message)?.[1] ?? message.split(" ", 1)[0] ?? "";
  const said = message.slice(0, maxMessage);
  return new BackplaneError(codes[word] ?? "REDIS_FAILED", `Redis refuses: ${said}`, { cause: error });
}

export { Backoff, type BackoffOptions } from "./backoff.js";
export { sleep, systemClock, type Clock } from "./clock.js";
export { createLogger, type Logger, type LoggerOptions } from "./logger.js";
export type { Runnable } from "./runnable.js";

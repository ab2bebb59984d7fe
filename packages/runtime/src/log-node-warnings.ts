import type { Logger } from "./logger.js";

/**
 * Has what node warns of logged, which it would print as text between the lines of a structured log. Deprecations are for developers, so they
 * are debug lines.
 *
 * For the whole process, permanently: only main.ts may call this.
 */
export function logNodeWarnings(
  logger: Pick<Logger, "warn" | "debug">,
  target: Pick<NodeJS.Process, "on" | "removeAllListeners"> = process,
): void {
  // Node's own, which prints.
  target.removeAllListeners("warning");
  target.on("warning", (warning: Error & { readonly code?: string }) => {
    const { name, code, message } = warning;
    const fields = { warning: name, ...(code === undefined ? {} : { code }) };
    if (name === "DeprecationWarning") logger.debug(fields, message);
    else logger.warn(fields, message);
  });
}

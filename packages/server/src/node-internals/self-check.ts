import type { Server } from "node:net";
import type { Logger } from "@bunting/runtime";
import { httpParts, type NodePart } from "./http-parts.js";
import { withSample } from "./parser-sample.js";
import { hasStreamHandle } from "./socket-handle.js";

type Missing = Pick<NodePart, "name" | "limit">;

const handleLimit =
  "peers are read beyond their share, and connections whose peer takes nothing are not ended";

/** The missing parts, by the checks that need no connection. Tests prove all parts. */
export function missingAtStart(
  listening: Server,
  parts: readonly NodePart[] = httpParts,
): readonly Missing[] {
  const missing: Missing[] = withSample((sample) => parts.filter(({ isThere }) => !isThere(sample)));
  if (!hasStreamHandle(listening)) missing.push({ name: "socket-handle", limit: handleLimit });
  return missing;
}

/** Names the limit that is off. */
export function warnOf({ name, limit }: Missing, logger: Logger): void {
  const message = `this version of node lacks something that a limit needs: ${limit}`;
  logger.warn({ node: process.version, part: name }, message);
}

let isChecked = false;

/** Warns of missing parts, once in a process. */
export function warnOfMissingParts(listening: Server, logger: Logger): void {
  if (isChecked) return;
  isChecked = true;
  for (const part of missingAtStart(listening)) warnOf(part, logger);
}

import { byteSize, option, textOption } from "@bunting/runtime";

/** Options of the copies on disk. */
export const cacheOptionTable = {
  cacheDir: textOption(
    "A directory for last-known-good copies of the flags, which are served, as stale, until the source answers: after a restart while the API server is away. One directory for each proxy; if empty, no copies are kept.",
  ),
  cacheSize: option(
    byteSize({ min: 1024 * 1024, max: 1024 ** 4 }),
    256 * 1024 * 1024,
    "How many bytes the copies in --cache-dir may take. Beyond it, those written longest ago are removed.",
  ),
} as const;

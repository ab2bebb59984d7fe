import { integer, option, optionGroup, text } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

export const tailOptionTable = {
  ...optionGroup("Proxy", {
    address: option(
      text,
      "localhost:8015",
      "HOST:PORT or unix:PATH of the sync port of a proxy, or of another server of flagd.sync.v1. In a cluster, forward it first: kubectl port-forward deploy/bunting-proxy 8015.",
      { short: "a" },
    ),
    ...connectionOptions,
  }),
  limit: option(
    integer({ min: 0, max: 1_000_000 }),
    0,
    "Number of versions to print before the command ends, the first included. 0: until Ctrl-C.",
    { group: "Output", env: ["BUNTING_TAIL_LIMIT"] },
  ),
  json: jsonOption,
} as const;

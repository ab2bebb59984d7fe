import { optionGroup } from "@bunting/runtime/options";
import { jsonOption, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

export const diffOptionTable = {
  ...optionGroup("Proxy", {
    timeout: timeoutOption("Maximum wait for the flags of a proxy."),
    ...connectionOptions,
  }),
  json: jsonOption,
} as const;

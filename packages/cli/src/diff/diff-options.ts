import { duration, option, optionGroup } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

export const diffOptionTable = {
  ...optionGroup("Proxy", {
    timeout: option({
      type: duration({ minMs: 100, maxMs: 3_600_000, zero: "use a long time instead" }),
      default: 10_000,
      describe: "Maximum wait for the flags of a proxy.",
    }),
    ...connectionOptions,
  }),
  json: jsonOption,
} as const;

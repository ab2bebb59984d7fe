import { option, toggle } from "@bunting/runtime/options";

/** Options that several commands have. */
export const jsonOption = option({
  type: toggle,
  default: false,
  describe: "Print the result as JSON.",
  group: "Output",
  env: ["BUNTING_JSON"],
});

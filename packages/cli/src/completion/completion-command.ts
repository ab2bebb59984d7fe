import { flagName } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { command } from "../command.js";
import { completionScript, shells } from "./scripts.js";

export const completionCommand = command({
  name: "completion",
  usage: `completion ${shells.join("|")}`,
  describe:
    "Prints a script that completes commands and options in your shell: source <(bunting completion bash), or bunting completion fish | source.",
  table: {},
  epilogue: "Exit code: 0, or 2 for an unknown shell.",
  run: async ({ words, io, commands }) => {
    const shell = shells.find((one) => one === words[0]);
    if (shell === undefined || words.length > 1)
      throw new CliError("USAGE_INVALID", `expected one shell: ${shells.join(", ")}`);
    const completed = await Promise.all(
      commands.map(async ({ name, summary, load }) => {
        const { table } = await load();
        const flags = Object.entries(table).map(([key, spec]) => ({
          name: flagName(key, spec),
          // The first sentence.
          describe: spec.describe.split(/[.:;] /)[0] ?? "",
        }));
        return { name, summary, flags };
      }),
    );
    io.print(completionScript(shell, completed));
    return 0;
  },
});

import yargs from "yargs";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { shells } from "./shells.js";

/** `bunting completion SHELL`; resolves with the exit code. */
export function runCompletion({ words, io }: CommandCall<object>): Promise<number> {
  const shell = shells.find((one) => one === words[0]);
  if (shell === undefined || words.length > 1)
    throw CliError.usageInvalid(`expected one shell: ${shells.join(", ")}`);
  io.print(completionScript(shell));
  return Promise.resolve(0);
}

/** yargs's own script for fish completes neither values nor files. */
const fishScript =
  "complete -c bunting -a '(SHELL=fish bunting --get-yargs-completions (commandline -opc) (commandline -ct))'";

/** The script with which a shell asks `bunting --get-yargs-completions` for each word. */
function completionScript(shell: (typeof shells)[number]): string {
  if (shell === "fish") return fishScript;
  const { SHELL } = process.env;
  // yargs takes the shell from the environment alone, when the parser is made.
  process.env["SHELL"] = shell;
  try {
    let script = "";
    void yargs([])
      .scriptName("bunting")
      .exitProcess(false)
      .completion("completion")
      .parse(["completion"], {}, (_error, _args, output) => {
        script = output.trimEnd();
      });
    return script;
  } finally {
    if (SHELL === undefined) delete process.env["SHELL"];
    else process.env["SHELL"] = SHELL;
  }
}

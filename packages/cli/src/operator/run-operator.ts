import { quoted } from "@bunting/runtime/options";
import { yamlText } from "@bunting/files/yaml";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import type { Io } from "../terminal/io.js";
import { withCluster } from "./cluster-reader.js";
import { explainPod } from "./explain/explain-pod.js";
import { checkMigration } from "./migrate/check-migration.js";
import type { operatorTaskOptions } from "./operator-options.js";
import type { OperatorResult } from "./operator-result.js";
import { renderPods } from "./render/render-pods.js";

type OperatorCall = CommandCall<typeof operatorTaskOptions>;

/** `bunting operator TASK`; resolves with the exit code. */
export async function runOperator(call: OperatorCall): Promise<number> {
  const { options, io } = call;
  if (options.back && call.words[0] !== "migrate")
    throw CliError.usageInvalid("--back belongs to: bunting operator migrate check");
  const result = await resultOf(call);
  print(result, options.json ? "json" : options.output, io);
  return result.code;
}

async function resultOf({ options, words, io }: OperatorCall): Promise<OperatorResult> {
  const [task, ...rest] = words;
  switch (task) {
    case "explain":
      return withCluster(options, io, (reader) => explainPod(rest, options.namespace, reader));
    case "render":
      return withCluster(options, io, (reader) => renderPods(rest, options.namespace, { reader, io }));
    case "migrate":
      return withCluster(options, io, (reader) => checkMigration(rest, options.back, reader));
    default:
      throw CliError.usageInvalid(`expected explain, render or migrate, got ${quoted(task ?? "")}`);
  }
}

function print(
  { lines, value }: OperatorResult,
  form: "text" | "json" | "yaml",
  { print: line }: Pick<Io, "print">,
): void {
  if (form === "json") line(JSON.stringify(value, null, 2));
  else if (form === "yaml") line(yamlText(value));
  else for (const each of lines) line(each);
}

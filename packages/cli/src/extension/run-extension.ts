import {
  checkConformance,
  extensionTargets,
  type ConformanceOptions,
  type ConformanceResult,
  type ExtensionObject,
} from "@bunting/extension";
import { readText } from "@bunting/files/text";
import { isJsonObject } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { readInput, unreadable, nameOf } from "../input/read-input.js";
import { readJsonOption } from "../input/read-json-option.js";
import type { Io } from "../terminal/io.js";
import { plural } from "../terminal/plural.js";
import type { extensionOptionTable } from "./extension-options.js";
import { extensionUrl } from "./extension-url.js";
import { objectsIn } from "../input/objects-in.js";

type ExtensionCall = CommandCall<typeof extensionOptionTable>;

/** `bunting extension test URL`; resolves with the exit code. */
export async function runExtension({ options, words, io }: ExtensionCall): Promise<number> {
  const [, url, ...rest] = words;
  if (url === undefined || rest.length > 0)
    throw CliError.usageInvalid("name one address: bunting extension test http://localhost:8080");
  const { href } = extensionUrl(url, options.tokenFile !== "");
  const found: ConformanceResult[] = [];
  for await (const result of checkConformance(href, await conformanceOptions({ options, io }))) {
    found.push(result);
    if (!options.json) print(result, io);
  }
  const failed = found.filter(({ outcome }) => outcome === "failed").length;
  if (options.json) io.print(JSON.stringify({ url: href, conforms: failed === 0, results: found }, null, 2));
  const remarks = found.filter(({ outcome }) => outcome === "remark").length;
  const counted = [plural(failed, "failure"), ...(remarks === 0 ? [] : [plural(remarks, "remark")])];
  io.note(`${plural(found.length, "check")}: ${counted.join(", ")}`);
  return failed > 0 ? 1 : 0;
}

async function conformanceOptions({
  options,
  io,
}: Pick<ExtensionCall, "options" | "io">): Promise<ConformanceOptions> {
  const { target, object, namespace, configuration, mutates, timeout, caFile, tokenFile } = options;
  if (object !== "" && target === "all")
    throw CliError.usageInvalid(`--object takes one --target: ${extensionTargets.join(", ")}`);
  const example = 'JSON such as {"scrape": true}';
  const json = { option: "--configuration", what: "the configuration", example };
  return {
    ...(target === "all" ? {} : { targets: [target] }),
    ...(object === "" ? {} : { object: await readObject(object, io) }),
    namespace: { name: namespace, labels: options.namespaceLabels, annotations: {} },
    ...(configuration === "" ? {} : { configuration: (await readJsonOption(configuration, json, io)).value }),
    ...(mutates.length === 0 ? {} : { mutates }),
    timeoutMs: timeout,
    ...(caFile === "" ? {} : { ca: await textOf(caFile, io) }),
    ...(tokenFile === "" ? {} : { token: (await textOf(tokenFile, io)).trim() }),
    signal: io.signal,
  };
}

async function textOf(path: string, io: Io): Promise<string> {
  const text = (await readInput(path, io)).toString();
  if (text.trim() === "") throw unreadable(path, new Error("it is empty"));
  return text;
}

function print({ outcome, target, message }: ConformanceResult, { print: line, colours }: Io): void {
  const colour = { passed: colours.green, remark: colours.yellow, failed: colours.red }[outcome];
  line([colour(outcome.padEnd(6)), ...(target === undefined ? [] : [`${target}:`]), message].join(" "));
}

/**
 * The one object of a file in YAML or JSON.
 *
 * @throws CliError INPUT_UNREADABLE or INPUT_INVALID
 */
async function readObject(path: string, io: Pick<Io, "stdin" | "signal">): Promise<ExtensionObject> {
  const name = nameOf(path);
  const text = await readText(name, await readInput(path, io));
  if (text.kind === "error")
    throw CliError.inputInvalid(`${name}:${text.line}:${text.column}: ${text.message}`);
  const [object, ...others] = text.documents
    .flatMap(({ value }) => objectsIn(value))
    .map(({ value }) => value);
  if (object === undefined || others.length > 0)
    throw CliError.inputInvalid(
      `${name} holds ${object === undefined ? "no object" : "several objects"}: give it one`,
    );
  const { apiVersion, kind, metadata } = object;
  const given = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (
    typeof apiVersion !== "string" ||
    typeof kind !== "string" ||
    !isJsonObject(metadata) ||
    typeof given !== "string"
  )
    throw CliError.inputInvalid(
      `${name} holds no object of Kubernetes: it has no apiVersion, kind or metadata.name`,
    );
  return { ...object, apiVersion, kind, metadata: { ...metadata, name: given } };
}

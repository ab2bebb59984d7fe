import { request, type IncomingMessage } from "node:http";
import { isIP, type LookupFunction, type TcpNetConnectOpts } from "node:net";
import { errorCode } from "./error-code.js";
import { hostAndPort } from "./host-and-port.js";
import { toggleOption, type OptionsOf, type OptionTable } from "./options/option.js";
import { readArgv } from "./options/read-argv.js";
import { readOptions } from "./options/read-options.js";
import { renderHelp } from "./options/render-help.js";
import { quoted } from "./quoted.js";
import { RuntimeError } from "./runtime-error.js";

/** Address at which a service answers probes, by its options. */
export interface ProbeAddress {
  readonly port: number;
  /** Empty for all addresses of the machine. */
  readonly host?: string;
  readonly usesTls?: boolean;
  /** The option that chose the port, with its dashes. */
  readonly optionName: string;
}

/** The subcommand `health` of a service. */
export interface HealthCommand<Table extends OptionTable> {
  /** `bunting-agent`. */
  readonly name: string;
  readonly table: Table;
  readonly addressOf: (options: OptionsOf<Table>) => ProbeAddress;
}

/** Of a request, from the connection to the last byte. Shorter than what Docker and the kubelet allow a command by themselves. */
const answerWithinMs = 2000;

/** Of an answer. A service says less; something else may answer in its place, and without end. */
const maxAnswerCharacters = 4_096;
/** Text that a terminal shows as it is: none of it can act on one, or hide. */
const invisible = /[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]|\p{Default_Ignorable_Code_Point}/gu;

const live = toggleOption("Ask whether the process lives (/healthz), not whether it is ready (/readyz).", {
  group: "Health",
  env: [],
});

/** Answers of services: 200, 412, or one that cannot be had. */
interface Answer {
  readonly isGood: boolean;
  readonly sentence: string;
}

/**
 * The whole of a process: asks a service that runs with the same options, variables and config file whether it is ready, for images without a shell or
 * a client of HTTP. The exit code is 0 if it is, 1 with a sentence if it is not, and 2 if the question makes no sense. It must not import what the
 * service is made of: it runs again and again, in the memory of the service's container.
 */
export async function runHealth<const Table extends OptionTable>(
  command: HealthCommand<Table>,
): Promise<void> {
  try {
    process.exitCode = await run(command, process.argv.slice(3));
  } catch (error) {
    process.stderr.write(
      `${command.name}: ${error instanceof RuntimeError ? error.message : String(error)}\n`,
    );
    process.exitCode = 2;
  }
}

async function run<Table extends OptionTable>(
  { name, table, addressOf }: HealthCommand<Table>,
  argv: readonly string[],
): Promise<number> {
  if (argv.includes("--help") || argv.includes("-h")) {
    const usage = `${name} health [--live] [options of start]`;
    const describe = `Asks the ${name} that runs here whether it is ready. Exit code: 0 yes, 1 no, 2 wrong usage.`;
    const epilogue = "The flags, variables and config file of start say where it answers.";
    process.stdout.write(`${renderHelp({ usage, describe, table: { live }, epilogue })}\n`);
    return 0;
  }
  const ofHealth = { ...table, live };
  const [word] = readArgv(ofHealth, argv).positionals;
  if (word !== undefined) refuse(`${quoted(word)} does not belong to a flag; --help shows the usage`);
  const { options } = await readOptions(ofHealth, { argv, env: process.env, refusesUnknownVariables: true });
  // They are those of `table`, and one more.
  const address = addressOf(options);
  if (address.port === 0) refuse(`with ${address.optionName} 0 no port is known to ask at: give it a number`);
  const { isGood, sentence } = await ask(address, (options as { readonly live: boolean }).live);
  process[isGood ? "stdout" : "stderr"].write(`${name}: ${sentence}\n`);
  return isGood ? 0 : 1;
}

function refuse(sentence: string): never {
  throw new RuntimeError("OPTION_INVALID", sentence);
}

async function ask(
  { port, host, usesTls = false, optionName }: ProbeAddress,
  isLive: boolean,
): Promise<Answer> {
  const path = isLive ? "/healthz" : "/readyz";
  const address = reachable(host);
  const place = hostAndPort(address.host, port);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // https takes 4 MB more. As the kubelet's probes, this trusts any certificate: it talks to itself.
      const send = usesTls ? process.getBuiltinModule("node:https").request : request;
      const signal = AbortSignal.timeout(answerWithinMs);
      send({ ...address, port, path, rejectUnauthorized: false, agent: false, signal })
        .on("response", resolve)
        .on("error", reject)
        .on("close", () => reject(new Error("no answer")))
        .end();
    });
    const body = await beginningOf(response);
    const isGood = response.statusCode === 200;
    return { isGood, sentence: `${isGood ? "" : "not "}${isLive ? "alive" : "ready"}: ${body}` };
  } catch (error) {
    const isLate = ["AbortError", "TimeoutError"].includes((error as Error).name);
    const sentence = isLate
      ? `${place} has not answered within ${answerWithinMs / 1000} s`
      : `nothing answers at ${place} (${errorCode(error) ?? String(error)}): does it run, and with this ${optionName}?`;
    return { isGood: false, sentence };
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const part of response) {
    text += String(part);
    // Leaving the loop ends the connection.
    if (text.length > maxAnswerCharacters) break;
  }
  return text.slice(0, maxAnswerCharacters).trim().replace(invisible, "?");
}

/** Where a process of the same machine reaches what listens on `host`: without one on either address of loopback, of which a machine may have one only. */
function reachable(host = ""): Pick<TcpNetConnectOpts, "lookup"> & { host: string } {
  const lookup: LookupFunction = (_name, _options, found) => found(null, loopback);
  if (host === "") return { host: "localhost", lookup, ...oneAfterTheOther };
  if (host === "0.0.0.0") return { host: "127.0.0.1" };
  return { host: host === "::" ? "::1" : host };
}

/** Also where NODE_OPTIONS says that node must not. An address that nothing listens on refuses at once; one that is slow is not given up after node's 250 ms. */
const oneAfterTheOther = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: answerWithinMs };
const loopback = ["127.0.0.1", "::1"].map((address) => ({ address, family: isIP(address) }));

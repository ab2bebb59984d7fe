import { CodedError } from "@bunting/runtime/options";

/** The errors of the CLI. Each ends a command with exit code 2. */
export type CliErrorCode =
  | "USAGE_INVALID" // the command line can't be understood.
  | "INPUT_UNREADABLE" // a file, a directory or the standard input can't be read.
  | "INPUT_INVALID" // what was read holds no flags, or more than the command can work with.
  | "FLAG_UNKNOWN" // there is no flag with that key.
  | "SERVER_UNREACHABLE" // a proxy or an agent can't be reached, or ended the call.
  | "SERVER_REFUSED" // a proxy, an agent or the API server refuses the request.
  | "PROXY_UNKNOWN" // no Pod of a proxy was found in the cluster.
  | "OBJECT_UNKNOWN"; // the cluster has no object of that name.

/** Its message is a sentence for the user, and says what to do about it. */
export class CliError extends CodedError<CliErrorCode> {
  override readonly name = "CliError";

  static usageInvalid(message: string, options?: ErrorOptions): CliError {
    return new CliError("USAGE_INVALID", message, options);
  }

  static inputInvalid(message: string, options?: ErrorOptions): CliError {
    return new CliError("INPUT_INVALID", message, options);
  }
}

import { CodedError } from "./coded-error.js";

/** What can go wrong when a process is started and stopped. */
export type RuntimeErrorCode =
  | "OPTION_INVALID" // a flag, an environment variable or a key of the config file has a value that can't be used.
  | "CONFIG_UNREADABLE" // the config file does not exist, or is not in the format of its extension.
  | "COMMAND_UNKNOWN" // the command line names an unknown command.
  | "STOP_TIMED_OUT"; // a component did not stop in time and was abandoned.

export class RuntimeError extends CodedError<RuntimeErrorCode> {
  override readonly name = "RuntimeError";
}

/**
 * What can go wrong in the craft of running a process.
 *
 * - OPTION_INVALID: a flag, an environment variable or a key of the config file has a value that can't be used.
 * - CONFIG_UNREADABLE: the config file is not there or not readable as what its ending says.
 * - COMMAND_UNKNOWN: the command line names no command there is.
 * - STOP_TIMED_OUT: a component did not stop in time and was left behind.
 */
export type RuntimeErrorCode = "OPTION_INVALID" | "CONFIG_UNREADABLE" | "COMMAND_UNKNOWN" | "STOP_TIMED_OUT";

export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

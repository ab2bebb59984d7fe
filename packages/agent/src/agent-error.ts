import { CodedError } from "@bunting/runtime";

/** What can go wrong in the agent. */
export type AgentErrorCode =
  | "OPTION_INVALID" // an option has a value that can't be used, or a required one is absent.
  | "SOURCE_UNSUPPORTED" // this agent supports none of the kinds of sources it was given.
  | "DOCUMENT_INVALID" // a source sent something that is not a flag document; the previous one is still served.
  | "DOCUMENT_TOO_LARGE" // a document needs more memory than there is; the previous one is still served.
  | "BIND_FAILED"; // the agent can't listen on a port or socket.

/** The one error of this package. Its message tells the user what to do. */
export class AgentError extends CodedError<AgentErrorCode> {
  override readonly name = "AgentError";

  static optionInvalid(message: string, options?: ErrorOptions): AgentError {
    return new AgentError("OPTION_INVALID", message, options);
  }
}

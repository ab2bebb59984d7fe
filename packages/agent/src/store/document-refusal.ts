import { AgentError } from "../agent-error.js";
import { ScanError } from "../document/json-scanner.js";

/** False for a defect, whose stack is logged. */
export function isExpected(cause: unknown): cause is ScanError | AgentError {
  return cause instanceof ScanError || cause instanceof AgentError;
}

/** The reason for which a document is refused. Even an unexpected failure refuses this document alone. */
export function documentRefusal(cause: unknown, bytes: Buffer): AgentError {
  if (isExpected(cause)) return cause instanceof AgentError ? cause : documentInvalid(cause, bytes);
  const message = `it could not be read because of a bug in Bunting (${String(cause)}); please report it`;
  return new AgentError("DOCUMENT_INVALID", message, { cause });
}

function documentInvalid(cause: ScanError, bytes: Buffer): AgentError {
  const lineStart = bytes.lastIndexOf("\n", Math.max(0, cause.offset - 1)) + 1;
  let line = 1;
  for (let at = bytes.indexOf("\n"); at >= 0 && at < lineStart; at = bytes.indexOf("\n", at + 1)) line++;
  const place = `line ${line}, byte ${cause.offset - lineStart + 1}`;
  return new AgentError("DOCUMENT_INVALID", `this is not a flag document: ${cause.message} (${place})`, {
    cause,
  });
}

/** The system's code of an error, `ENOENT` for instance; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The sentence of an error, and what else was thrown as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Has V8 format the stacks of an error that is kept, and of its causes. Until a stack is read for the first time, it keeps alive what its frames were called
 * with: 1.4 MB for each FeatureFlag of 1.3 MB that is refused.
 */
export function releaseFrames(error: unknown): void {
  for (let next = error; next instanceof Error; next = next.cause) String(next.stack);
}

/** Failures of the process or of the machine: they say nothing of the file that was read, or of the module that was loaded. */
const shortages = new Set(["EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE"]);

/** Whether something could not be had just now, for want of a file descriptor for instance: nobody has refused it. */
export function isShortage(error: unknown): boolean {
  return shortages.has(errorCode(error) ?? "");
}

/** The reason and the sentence for an error that nothing here expects: the code that was to run may be in a file for which there is no descriptor. */
export function unexpectedFailure(what: string, error: unknown): ["unavailable" | "defect", string] {
  if (isShortage(error)) return ["unavailable", `${what}: ${messageOf(error)}`];
  return ["defect", `${what} because of a bug in Bunting: ${String(error)}`];
}

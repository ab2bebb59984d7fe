/** A last-known-good copy can't be used; the message names the file and the reason. */
export class UnusableCopyError extends Error {
  override readonly name = "UnusableCopyError";
}

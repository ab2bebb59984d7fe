import { isShortage } from "@bunting/runtime";

/** A last-known-good copy can't be used; the message names the file and the reason. */
export class UnusableCopyError extends Error {
  override readonly name = "UnusableCopyError";

  /** True if it could not be read, for want of a descriptor for instance, so that the copy may be as good as ever. */
  get isUnread(): boolean {
    return isShortage(this.cause);
  }
}

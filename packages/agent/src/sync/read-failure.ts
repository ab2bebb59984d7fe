import { isShortage } from "@bunting/runtime";

/** Why a file or a directory could not be read: nobody has refused it where there is only no file descriptor left. */
export function readFailure(error: unknown): "unavailable" | "unreadable" {
  return isShortage(error) ? "unavailable" : "unreadable";
}

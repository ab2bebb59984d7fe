import { isShortage, messageOf } from "@bunting/runtime";

/** Why a file or a directory could not be read: nobody has refused it where there is only no file descriptor left. */
export function readFailure(error: unknown): "unavailable" | "unreadable" {
  return isShortage(error) ? "unavailable" : "unreadable";
}

/** What a source says of an error that its reading does not expect: its code may be in a file for which there is no descriptor. */
export function unexpectedFailure(
  what: string,
  error: unknown,
): [reason: "unavailable" | "defect", sentence: string] {
  if (isShortage(error)) return ["unavailable", `${what}: ${messageOf(error)}`];
  return ["defect", `${what} because of a bug in Bunting: ${String(error)}`];
}

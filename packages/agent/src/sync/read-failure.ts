import { errorCode } from "@bunting/runtime";

/** Errors of the process or of the machine, which say nothing of the file. */
const shortages = new Set(["EMFILE", "ENFILE", "ENOMEM", "EIO", "ENXIO", "ESTALE"]);

/** Why a file or a directory could not be read: nobody has refused it where there is only no file descriptor left. */
export function readFailure(error: Error): "unavailable" | "unreadable" {
  return shortages.has(errorCode(error) ?? "") ? "unavailable" : "unreadable";
}

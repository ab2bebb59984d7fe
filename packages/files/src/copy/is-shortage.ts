import { errorCode } from "@bunting/runtime";

const shortages: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE"]);

/** True for an error of the process or of the machine, which says nothing of the file or directory that was asked for. */
export function isShortage(error: unknown): boolean {
  return shortages.has(errorCode(error) ?? "");
}

import path from "node:path";
import { binaries } from "../support/service-process.js";

/** A version of our programs. */
export type Version = "previous" | "present";

/** The program of a version: `npm run test:skew` builds the previous one, and says where it is. */
export function binaryOf(version: Version, program: "proxy" | "agent" | "operator"): string {
  const present = binaries[program];
  if (version === "present") return present;
  const root = process.env["BUNTING_PREVIOUS"] ?? "";
  if (root === "") throw new Error("run these tests by `npm run test:skew`");
  return path.join(root, path.relative(path.resolve(import.meta.dirname, "../.."), present));
}

import type { KubeError } from "@bunting/kube";

/** A field that another manager owns, with another value than the one that was applied. */
export interface FieldConflict {
  /** As in `withoutField`. */
  readonly field: string;
  readonly manager: string;
  /** How the manager wrote it: by server-side apply, or by create, update and patch. */
  readonly operation: "Apply" | "Update";
}

/** `conflict with "kubectl-edit" with subresource "scale" using apps/v1 at 2026-…`; what follows the manager is left out for those that apply. */
const sentence = /^conflict with ("(?:[^"\\]|\\.)*")(?: with subresource "[^"]*")?( using )?/;

/** The conflicts because of which an apply was refused; none if it was refused for another reason. */
export function fieldConflicts(error: KubeError): readonly FieldConflict[] {
  if (error.code !== "CONFLICT") return [];
  return error.causes.flatMap(({ reason, message = "", field }) => {
    if (reason !== "FieldManagerConflict" || field === undefined) return [];
    const [, quotedManager, using] = sentence.exec(message) ?? [];
    const manager = quotedManager === undefined ? message : unquoted(quotedManager);
    return [{ field, manager, operation: using === undefined ? "Apply" : "Update" } as const];
  });
}

/** Go quotes as JSON does, but for characters that no manager's name has. */
function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

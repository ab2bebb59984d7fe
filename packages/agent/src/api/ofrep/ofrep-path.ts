import path from "node:path";
import { ssePath } from "../sse/event-streams-json.js";

/** What the target of an OFREP request names: all flags, one of them, the stream of events, the path to ask for instead, or nothing. */
export type OfrepTarget =
  | { readonly kind: "events"; readonly selector: string | undefined }
  | { readonly kind: "bulk" | "unknown" | "malformed" }
  | { readonly kind: "flag"; readonly key: string }
  | { readonly kind: "redirect"; readonly location: string };

const bulkPath = "/ofrep/v1/evaluate/flags";
const bulk: OfrepTarget = { kind: "bulk" };
const unknown: OfrepTarget = { kind: "unknown" };

/**
 * Reads the target of a request line as flagd's router does: escapes are decoded first, so that `flags%2Fkey` names a flag; a path that is
 * not in its shortest form (`//`, `.`, `..`) is redirected; and only the path of all flags may end with a slash.
 */
export function parseOfrepTarget(target: string): OfrepTarget {
  const queryAt = target.indexOf("?");
  const raw = pathOf(queryAt === -1 ? target : target.slice(0, queryAt));
  let decoded = raw;
  if (raw.includes("%")) {
    try {
      decoded = decodeURIComponent(raw);
    } catch {
      return { kind: "malformed" };
    }
  }
  if (decoded.includes("//") || decoded.includes("/.")) {
    const clean = path.posix.normalize(decoded);
    const trimmed =
      clean.length > 1 && !decoded.endsWith("/") && clean.endsWith("/") ? clean.slice(0, -1) : clean;
    if (trimmed !== decoded)
      return {
        kind: "redirect",
        location: `${escaped(trimmed)}${queryAt === -1 ? "" : target.slice(queryAt)}`,
      };
  }
  if (decoded === bulkPath || decoded === `${bulkPath}/`) return bulk;
  if (decoded === ssePath) {
    const query = new URLSearchParams(queryAt === -1 ? "" : target.slice(queryAt));
    return { kind: "events", selector: query.get("selector") ?? undefined };
  }
  if (!decoded.startsWith(`${bulkPath}/`)) return unknown;
  const key = decoded.slice(bulkPath.length + 1);
  return key.includes("/") ? unknown : { kind: "flag", key };
}

/** A request line may name the whole URL. */
function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  const authority = /^https?:\/\/[^/]*/i.exec(target)?.[0];
  return authority === undefined ? target : target.slice(authority.length);
}

function escaped(decoded: string): string {
  return encodeURI(decoded).replace(
    /[?#!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

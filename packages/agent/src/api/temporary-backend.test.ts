import { AgentError } from "../agent-error.js";
import type { FlagSelector } from "./backend.js";

/** Until the selector's grammar is there. */
export function parseTestSelector(text: string): FlagSelector {
  const at = text.indexOf("=");
  const [name, value] = at === -1 ? ["source", text] : [text.slice(0, at), text.slice(at + 1)];
  if (name !== "source" && name !== "flagSetId") {
    throw new AgentError("SELECTOR_INVALID", `unknown selector key ${name}`);
  }
  return { matches: (flag) => flag[name] === value, metadata: { [name]: value } };
}

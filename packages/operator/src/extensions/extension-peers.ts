import type { ExtensionAnswer } from "@bunting/extension";
import type { Extension } from "../api/extension.js";
import type { ExtensionQuestion } from "./extension-caller.js";

/** The services behind Extensions. */
export interface ExtensionPeers {
  /** As ExtensionCaller has it. @throws the reason of the signal alone, but an answer may come for `OutOfTime`: that of one who had its time */
  ask(extension: Extension, question: ExtensionQuestion, signal: AbortSignal): Promise<ExtensionAnswer>;
  /** Hears what became of each answer, once it was looked at: one with what the extension may not change is `failed`. */
  heard?(extension: Extension, answer: ExtensionAnswer): void;
}

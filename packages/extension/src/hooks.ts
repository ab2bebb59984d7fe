import type { ExtensionFinding } from "./extension-answer.js";
import type { ExtensionObject, ExtensionRequest } from "./extension-request.js";

/** What an extension does. A hook that it does not have changes nothing. */
export interface ExtensionHooks {
  readonly preCreate?: PreCreateHook;
  readonly lint?: LintHook;
}

/** Returns the object as it should be, or nothing if it may stay as it is. */
export type PreCreateHook = (
  request: ExtensionRequest,
) => ExtensionObject | undefined | Promise<ExtensionObject | undefined>;

/** Returns what there is to say of the object. */
export type LintHook = (
  request: ExtensionRequest,
) => readonly ExtensionFinding[] | Promise<readonly ExtensionFinding[]>;

/** What a hook throws if the object must not be made, or written: the message is what people read. */
export class HookRefusal extends Error {
  override readonly name = "HookRefusal";
}

/** Refuses the object. The reason is one sentence: what is wrong, and what to do. */
export function refuse(reason: string): never {
  throw new HookRefusal(reason);
}

import type { ExtensionHook, ExtensionNamespace, ExtensionTarget } from "@bunting/extension";
import type { Extension } from "../api/extension.js";
import { selects } from "../upgrade/selects.js";

/** Objects that an extension may be asked about. */
export interface AskedObjects {
  readonly hook: ExtensionHook;
  readonly target: ExtensionTarget;
  readonly namespace: Pick<ExtensionNamespace, "labels">;
}

/** True if the extension is asked about objects of this kind in this namespace. */
export function isAskedFor({ spec }: Extension, { hook, target, namespace }: AskedObjects): boolean {
  return (
    spec.hooks.includes(hook) &&
    spec.objects.includes(target) &&
    selects(spec.namespaceSelector ?? {}, namespace.labels)
  );
}

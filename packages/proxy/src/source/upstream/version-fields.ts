import { buntingSyncV1 } from "@bunting/protocol";
import type { DocumentVersion } from "@bunting/sync-client/messages";
import type { SourceVersion } from "../flag-source.js";

/** A resourceVersion later than that of any object. */
export const latestResourceVersion = String(2n ** 64n - 1n);

/** The fields of a version that its upstream knows: those with the default value are left out. */
export function versionFields({ encoded }: DocumentVersion): Omit<SourceVersion, "noticedMs"> {
  const { uid, generation, resourceVersion } = buntingSyncV1.Version.decode(encoded);
  return {
    ...(uid === "" ? {} : { uid }),
    ...(generation === "0" ? {} : { generation: Number(generation) }),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
  };
}

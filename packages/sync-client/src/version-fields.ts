import { buntingSyncV1 } from "@bunting/protocol";
import type { DocumentVersion } from "./bunting-messages.js";

/** What a version says of the object that the document is from. */
export interface VersionFields {
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
}

/** The fields of a version that the server knows: those with the default value are left out. */
export function versionFields({ encoded }: DocumentVersion): VersionFields {
  const { uid, generation, resourceVersion } = buntingSyncV1.Version.decode(encoded);
  return {
    ...(uid === "" ? {} : { uid }),
    ...(generation === "0" ? {} : { generation: Number(generation) }),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
  };
}

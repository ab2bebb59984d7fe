import type { EncodedVersion } from "@bunting/files/copies";
import type { SourceVersion } from "../flag-source.js";

/** The fields of a version that outlive the process. */
export type ObjectVersion = Omit<SourceVersion, "noticedMs" | "isUnconfirmed">;

export interface CopyVersion extends EncodedVersion {
  readonly fields: ObjectVersion;
}

export function encodeVersion({ uid, generation, resourceVersion }: SourceVersion): CopyVersion {
  const fields = {
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return { fields, encoded: Buffer.from(JSON.stringify(fields)) };
}

/** @throws Error if these bytes are no version */
export function decodeCopyVersion(encoded: Buffer): CopyVersion {
  const { uid, generation, resourceVersion } = JSON.parse(encoded.toString()) as Record<string, unknown>;
  const isVersion =
    isOptional(uid, "string") && isOptional(generation, "number") && isOptional(resourceVersion, "string");
  if (!isVersion) throw new Error("a field has the wrong type");
  return encodeVersion({ noticedMs: 0, ...({ uid, generation, resourceVersion } as ObjectVersion) });
}

function isOptional(value: unknown, type: "string" | "number"): boolean {
  return value === undefined || typeof value === type;
}

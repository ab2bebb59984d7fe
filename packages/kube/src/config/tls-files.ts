import { readSmallFile, shareInFlight, stampOfFile } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { TlsMaterial, TlsMaterialSource } from "./cluster-config.js";

/** The source of each part of the material: a file, data, or absent. A file wins over data, as in kubectl. */
export interface TlsFilesOptions {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Material that does not change. */
  readonly fixed?: TlsMaterial;
}

type Part = "ca" | "cert" | "key";

/** More than the authorities of all systems together. */
const maxFileBytes = 4 * 1024 * 1024;

/**
 * TLS material from files that are renewed by others (kubelet, cert-manager). Before each connection a file is checked, and read again if
 * it was replaced or written. While it can't be read, the last material stays in use.
 */
export function clusterTlsFiles({
  caFile,
  certFile,
  keyFile,
  fixed = {},
}: TlsFilesOptions): TlsMaterialSource {
  const paths = { ca: caFile, cert: certFile, key: keyFile };
  let material = fixed;
  /** The stamps of the files that the material is from. */
  let lastSeen: ReadonlyMap<Part, string> = new Map();
  const read = async (): Promise<TlsMaterial> => {
    const changed: Partial<Record<Part, Buffer>> = {};
    const seen = new Map(lastSeen);
    for (const part of ["ca", "cert", "key"] as const) {
      const path = paths[part];
      if (path === undefined) continue;
      const stamp = await stampOfFile(path);
      if (lastSeen.get(part) === stamp) continue;
      try {
        changed[part] = await readSmallFile(path, maxFileBytes);
        seen.set(part, stamp);
      } catch (cause) {
        if (lastSeen.has(part)) continue;
        const message = `${path} can't be read (${(cause as Error).message}); it should hold the ${names[part]}`;
        throw KubeError.configInvalid(message, { cause });
      }
    }
    if (Object.keys(changed).length > 0) {
      material = { ...material, ...changed };
      lastSeen = seen;
    }
    return material;
  };
  return { read: shareInFlight(read) };
}

const names = {
  ca: "certificates of the authorities to trust",
  cert: "client certificate",
  key: "client certificate's key",
};

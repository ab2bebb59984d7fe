import { readFile, stat } from "node:fs/promises";
import { KubeError } from "../kube-error.js";
import type { TlsMaterial, TlsMaterialSource } from "./cluster-config.js";

/** Where each part of the material is: in a file, given as data, or absent. A file wins over data, as in kubectl. */
export interface TlsFilesOptions {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Material that does not change. */
  readonly fixed?: TlsMaterial;
}

type Part = "ca" | "cert" | "key";

/**
 * TLS material from files that are renewed by others (kubelet, cert-manager). Before each connection a file is checked, and read again if
 * it was replaced or written. While it can't be read, the last material stays in use.
 */
export class ClusterTlsFiles implements TlsMaterialSource {
  readonly #paths: readonly (readonly [Part, string])[];
  readonly #seen = new Map<Part, string>();
  #material: TlsMaterial;
  #reading: Promise<TlsMaterial> | undefined;

  constructor(options: TlsFilesOptions) {
    const parts = [
      ["ca", options.caFile],
      ["cert", options.certFile],
      ["key", options.keyFile],
    ] as const;
    this.#paths = parts.filter((part): part is [Part, string] => part[1] !== undefined);
    this.#material = options.fixed ?? {};
  }

  read(): Promise<TlsMaterial> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<TlsMaterial> {
    const changed: Partial<Record<Part, Buffer>> = {};
    const seen = new Map(this.#seen);
    for (const [part, path] of this.#paths) {
      try {
        const { mtimeMs, ino, size } = await stat(path);
        const mark = `${mtimeMs} ${ino} ${size}`;
        if (this.#seen.get(part) === mark) continue;
        changed[part] = await readFile(path);
        seen.set(part, mark);
      } catch (cause) {
        if (this.#seen.has(part)) continue;
        throw new KubeError("CONFIG_INVALID", `${path} can't be read; it should hold the ${names[part]}`, {
          cause,
        });
      }
    }
    if (Object.keys(changed).length > 0) {
      this.#material = { ...this.#material, ...changed };
      for (const [part, mark] of seen) this.#seen.set(part, mark);
    }
    return this.#material;
  }
}

const names = {
  ca: "certificates of the authorities to trust",
  cert: "client certificate",
  key: "client certificate's key",
};

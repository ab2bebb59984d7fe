import { resolve } from "node:path";
import { ProxyError } from "../proxy-error.js";

export type SourceOption =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "kubernetes" }
  | { readonly kind: "upstream"; readonly upstreams: string };

const supported =
  "use --source kubernetes for the FeatureFlags of a cluster (the default in a Pod), --source dir:PATH with the path of a directory of FeatureFlag manifests or flagd files, or --source upstream:HOST:PORT for what another proxy serves";

/**
 * Reads the value of `--source`; without one, a pod of a cluster serves that cluster. Relative paths start at the working directory;
 * `~` is not expanded.
 *
 * @throws ProxyError OPTION_INVALID, which says what to write.
 */
export function parseSourceOption(value: string, isPod: boolean): SourceOption {
  if (value === "kubernetes" || (value === "" && isPod)) return { kind: "kubernetes" };
  if (value === "")
    throw ProxyError.optionInvalid(
      `there is no source of flags, and this is no Pod of a cluster: ${supported}`,
    );
  const colon = value.indexOf(":");
  const kind = value.slice(0, Math.max(colon, 0));
  const path = value.slice(colon + 1);
  if (kind === "upstream") {
    if (path === "") throw ProxyError.optionInvalid(`the source "${value}" names no proxy: ${supported}`);
    return { kind, upstreams: path };
  }
  if (kind !== "dir") throw ProxyError.optionInvalid(`unknown source "${value}": ${supported}`);
  if (path === "") throw ProxyError.optionInvalid(`the source "${value}" has no path: ${supported}`);
  return { kind: "directory", path: resolve(path) };
}

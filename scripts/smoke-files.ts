import { filesOfScale } from "./night-files.js";
import { allTestFiles } from "./test-files.js";
import type { TestScale } from "../test/support/scale.js";

/**
 * What touches node's own parts (HTTP/2, TLS, sockets, file watching, V8's flags, processes) or its clients': it differs between versions of
 * node, where our logic does not. An entry is a folder or a file, or several of which at least one is there.
 */
export const smokeEntries: readonly (readonly string[])[] = [
  ["packages/rpc", "packages/http2", "packages/server"],
  ["packages/kube/src/transport"],
  ["packages/kube/src/config"],
  ["packages/sync-client"],
  ["packages/files/src/watch"],
  ["packages/runtime"],
  ["packages/agent/src/sync"],
  ["packages/agent/src/v8"],
  ["test/integration/agent-process.test.ts"],
  ["test/integration/agent-code-cache.test.ts"],
  ["test/integration/proxy-process.test.ts"],
  ["test/conformance/providers.test.ts"],
  ["test/conformance/web-providers.test.ts"],
];

/** Files that are or lie in one of the entry's folders and files. */
export function filesOfEntry(
  entry: readonly string[],
  files: readonly string[] = allTestFiles(),
): readonly string[] {
  return files.filter((file) => entry.some((place) => file === place || file.startsWith(`${place}/`)));
}

/** A fifth of the files, and a tenth of their work. Those of the night are left out here, because files that are named always run. */
export function smokeFiles(scale?: TestScale): readonly string[] {
  const files = filesOfScale(allTestFiles(), scale);
  return smokeEntries.flatMap((entry) => filesOfEntry(entry, files));
}

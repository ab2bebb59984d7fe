import { messageOf, readSmallFile } from "@bunting/runtime";

/** Chains and keys take a few kilobytes, bundles of authorities some hundred. */
const maxFileBytes = 1024 * 1024;

/** Reads a file of PEM. `option` is the one that names it. */
export async function readPem(path: string, what: string, option: string): Promise<Buffer> {
  return readSmallFile(path, maxFileBytes).catch((cause: unknown) => {
    throw new Error(
      `the ${what} ${path} can't be read (${messageOf(cause)}): name a file that this user may read with ${option}`,
      { cause },
    );
  });
}

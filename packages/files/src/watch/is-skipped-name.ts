/**
 * Whether readers of a directory pass over this name, of a file or a directory. Those that start with a dot are in a ConfigMap mount the same files once
 * more, and elsewhere what editors and rsync write before they rename; in `node_modules` are thousands of files of others, none of them flags.
 */
export function isSkippedName(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

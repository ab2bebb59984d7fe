/** True if files of this name are read as YAML. */
export function isYamlName(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}

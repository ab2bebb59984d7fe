/** The oldest version whose behaviour a kube-apiserver of the tests can show: three before its own. */
const oldest = "1.33";

/** Flags with which API servers serve what the version of BUNTING_CLUSTER_VERSION does: `oldest`, or one such as 1.34. None without it. */
export function emulatedVersion(): readonly string[] {
  const version = process.env["BUNTING_CLUSTER_VERSION"] ?? "";
  return version === "" ? [] : [`--emulated-version=${version === "oldest" ? oldest : version}`];
}

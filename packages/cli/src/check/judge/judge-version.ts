import type { CheckFinding } from "../finding-codes.js";

/** Sidecars are init containers that restart always, which are on by default from here on. */
const oldest = [1, 29] as const;

/** Judges whether an API server of this version (`v1.36.1`) can be used. A text without a version is taken for that of a fork. */
export function judgeVersion(version: string): readonly CheckFinding[] {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return [];
  const isOld = Number(major) === oldest[0] ? Number(minor) < oldest[1] : Number(major) < oldest[0];
  if (!isOld) return [];
  return [
    {
      code: "api-version",
      where: "API server",
      what: `it is Kubernetes ${version}, and sidecars need ${oldest.join(".")} or newer`,
      todo: "upgrade the cluster",
    },
  ];
}

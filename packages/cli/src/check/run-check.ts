import { KubeError } from "@bunting/kube";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { withCluster } from "../operator/cluster-reader.js";
import { checkLines } from "./check-lines.js";
import type { checkOptionTable } from "./check-options.js";
import {
  checkReport,
  exitCodeOf,
  reportedCheck,
  type CheckReport,
  type ReportedCheck,
} from "./check-report.js";
import type { CheckPhase } from "./check.js";
import { checks } from "./checks.js";
import { ClusterSurvey } from "./cluster-survey.js";

/** `bunting check`; resolves with the exit code. */
export async function runCheck({
  options,
  words,
  io,
}: CommandCall<typeof checkOptionTable>): Promise<number> {
  if (words.length > 0) throw CliError.usageInvalid("check takes options only");
  if (options.sync !== "" && options.proxy === "")
    throw CliError.usageInvalid("--sync belongs to --proxy: name the management port as well");
  const phase = options.pre ? "pre" : "installed";
  const report = await reportOf(phase, options, io);
  if (options.json) io.print(JSON.stringify(report, null, 2));
  else for (const line of checkLines(report, io.colours)) io.print(line);
  return exitCodeOf(report);
}

type Call = CommandCall<typeof checkOptionTable>;

async function reportOf(phase: CheckPhase, options: Call["options"], io: Call["io"]): Promise<CheckReport> {
  const asked = checks.filter(
    ({ group, phases }) => phases.includes(phase) && (options.only === "all" || options.only === group),
  );
  const nothing = options.only !== "all" && asked.length === 0;
  if (nothing)
    throw CliError.usageInvalid(`--pre has no checks of the group ${options.only}: leave one of them out`);
  try {
    return await withCluster(options, io, async (reader) => {
      const survey = new ClusterSurvey(reader, options, io);
      // Without an API server no check means anything.
      await survey.version();
      const operatedBy = phase === "pre" ? undefined : await survey.operatedBy();
      const made = asked.filter(
        (one) => operatedBy === undefined || (one.operatedBy ?? [operatedBy]).includes(operatedBy),
      );
      if (made.length === 0)
        throw CliError.usageInvalid(
          `there is nothing to check of the group ${options.only}: a proxy runs here without an operator`,
        );
      const done = await Promise.all(
        made.map(async (one): Promise<ReportedCheck> => reportedCheck(one, await one.run(survey))),
      );
      return checkReport(phase, done, operatedBy);
    });
  } catch (error) {
    if (!(error instanceof KubeError) || io.signal.aborted) throw error;
    const title = "the API server answers";
    return checkReport(phase, [
      reportedCheck({ group: "cluster", title }, [
        {
          code: "api-unreachable",
          where: "API server",
          what: error.message,
          todo: "see whether kubectl reaches it with the same kubeconfig and context",
        },
      ]),
    ]);
  }
}

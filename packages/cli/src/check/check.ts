import { KubeError } from "@bunting/kube";
import { CliError } from "../cli-error.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { CheckFinding, CheckGroup } from "./finding-codes.js";
import { NotCheckedError } from "./not-checked-error.js";
import type { OperatedBy } from "./operated-by.js";

/** Before an installation, or of one. */
export type CheckPhase = "pre" | "installed";

/** A check: what it reads of the cluster, and what it makes of that without asking any more. */
export interface CheckDefinition<Facts> {
  readonly group: CheckGroup;
  /** The statement that holds where nothing is found. */
  readonly title: string;
  /** Absent: of an installation alone. */
  readonly phases?: readonly CheckPhase[];
  /** Installations that are checked in this way; absent: all. Before an installation it does not matter. */
  readonly operatedBy?: readonly OperatedBy[];
  /** @throws NotCheckedError, CliError, KubeError */
  readonly read: (survey: ClusterSurvey) => Promise<Facts>;
  readonly judge: (facts: Facts) => readonly CheckFinding[];
}

export interface Check extends Pick<CheckDefinition<unknown>, "group" | "title" | "operatedBy"> {
  readonly phases: readonly CheckPhase[];
  /** Findings of the check; facts that can't be read are one, too. */
  run(survey: ClusterSurvey): Promise<readonly CheckFinding[]>;
}

export function check<Facts>({ read, judge, ...definition }: CheckDefinition<Facts>): Check {
  return {
    phases: ["installed"],
    ...definition,
    run: async (survey) => {
      try {
        return judge(await read(survey));
      } catch (error) {
        survey.reader.signal.throwIfAborted();
        return [notChecked(error, definition.title)];
      }
    },
  };
}

function notChecked(error: unknown, title: string): CheckFinding {
  const isExplained =
    error instanceof NotCheckedError || error instanceof CliError || error instanceof KubeError;
  if (!isExplained) throw error;
  return {
    code: "not-checked",
    where: error instanceof NotCheckedError ? error.where : title,
    what: error.message,
    todo: "ask somebody with the right, or have it granted, and check again",
  };
}

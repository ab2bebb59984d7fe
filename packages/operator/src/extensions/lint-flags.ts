import type {
  ExtensionAnswer,
  ExtensionNamespace,
  ExtensionObject,
  ExtensionOperation,
} from "@bunting/extension";
import { configurationFor, stepsOf } from "@bunting/extension";
import type { Finding } from "@bunting/featureflags/checks";
import { within, type Clock } from "@bunting/runtime";
import type { Extension } from "../api/extension.js";
import type { ExtensionPeers } from "./extension-peers.js";
import { OutOfTime } from "./out-of-time.js";

/** A FeatureFlag that is written. */
export interface WrittenFlag {
  readonly operation: ExtensionOperation;
  readonly dryRun: boolean;
  readonly namespace: ExtensionNamespace;
  readonly object: ExtensionObject;
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface FlagComments {
  readonly findings: readonly Finding[];
  /** Sentences about extensions that said nothing, since they failed or had no time. */
  readonly remarks: readonly string[];
}

/** Asks extensions about a FeatureFlag, all at the same time, until `untilMs` of the clock: whoever writes it waits for them. */
export async function lintFlags(
  extensions: readonly Extension[],
  flag: WrittenFlag,
  peers: ExtensionPeers,
  { clock, untilMs }: { readonly clock: Clock; readonly untilMs: number },
): Promise<FlagComments> {
  const abort = new AbortController();
  const answers = new Map<string, ExtensionAnswer>();
  const all = extensions.map(async (extension) => {
    const answer = await answerOf(extension, flag, peers, abort.signal);
    peers.heard?.(extension, answer);
    answers.set(extension.metadata.name, answer);
  });
  const leftMs = untilMs - clock.monotonicMs();
  try {
    await within(leftMs, Promise.allSettled(all), clock);
  } finally {
    // What comes later is kept by nobody, but who was asked all the time is heard of.
    abort.abort(new OutOfTime(late.reason));
  }
  const findings: Finding[] = [];
  const remarks: string[] = [];
  for (const { metadata } of extensions) {
    const { comments, remark } = commentsOf(metadata.name, answers.get(metadata.name) ?? late);
    findings.push(...comments);
    if (remark !== undefined) remarks.push(remark);
  }
  return { findings, remarks };
}

const late: ExtensionAnswer & { readonly kind: "failed" } = {
  kind: "failed",
  reason: "it has not answered within a second",
};

async function answerOf(
  extension: Extension,
  { operation, dryRun, namespace, object, annotations }: WrittenFlag,
  peers: ExtensionPeers,
  signal: AbortSignal,
): Promise<ExtensionAnswer> {
  const configured = configurationFor(extension.metadata.name, annotations, namespace);
  if ("problem" in configured) return { kind: "refused", reason: configured.problem };
  const question = { hook: "lint", target: "FeatureFlag", operation, dryRun, namespace, object } as const;
  return peers.ask(extension, { ...question, ...configured }, signal);
}

function commentsOf(
  extension: string,
  answer: ExtensionAnswer,
): { readonly comments: readonly Finding[]; readonly remark?: string } {
  const finding = (severity: Finding["severity"], message: string, field = ""): Finding => ({
    severity,
    kind: "extension",
    message: `${message} (said by the extension ${extension})`,
    path: stepsOf(field),
  });
  switch (answer.kind) {
    case "commented":
      return {
        comments: answer.findings.map(({ severity, message, field }) => finding(severity, message, field)),
      };
    case "refused":
      return { comments: [finding("error", answer.reason)] };
    // Whatever its failurePolicy is: flags are edited to end incidents, too.
    case "failed":
      return {
        comments: [],
        remark: `the extension ${extension} has failed, and says nothing of it: ${answer.reason}`,
      };
    default:
      return { comments: [] };
  }
}

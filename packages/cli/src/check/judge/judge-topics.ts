import type { LateStatus, TopicStatus } from "../../status/proxy-status.js";
import { span } from "../../status/span.js";
import { plural } from "../../terminal/plural.js";
import type { FlagVerdict } from "../cluster-survey.js";
import type { CheckFinding } from "../finding-codes.js";
import type { AskedProxies } from "../proxy/ask-proxies.js";

export interface TopicsFacts {
  readonly proxies: AskedProxies;
  readonly flags: ReadonlyMap<string, FlagVerdict>;
}

/** A topic that several replicas serve is a finding once. */
export function judgeTopics({ proxies, flags }: TopicsFacts): readonly CheckFinding[] {
  const found = new Map<string, CheckFinding>();
  const add = (finding: CheckFinding): void => {
    const key = `${finding.code} ${finding.where}`;
    if (!found.has(key)) found.set(key, finding);
  };
  for (const [key, { refusal, stopped }] of flags) {
    if (refusal !== undefined) add(refused(key, refusal));
    if (stopped !== undefined) add(stoppedAt(key, stopped));
  }
  for (const { name, answer } of proxies) {
    if (answer.kind !== "status") {
      // Without a status it is unknown whether the topics are well: to say nothing would pass for an answer.
      const todo = "ask where its status may be read";
      add({ code: "not-checked", where: `proxy ${name}`, what: answer.message, todo });
      continue;
    }
    const { status } = answer;
    for (const reason of status.refusedDocuments)
      add({ code: "topic-refused", where: `proxy ${name}`, what: reason, todo: "correct the manifest" });
    for (const topic of status.topics) judgeTopic(topic).forEach(add);
    for (const one of status.late.shown) add(judgeLate(one));
    for (const one of status.leftBehind.shown) add(judgeLate(one));
  }
  return [...found.values()];
}

function judgeTopic({ topic = "?", staleReason, state, rejections }: TopicStatus): readonly CheckFinding[] {
  const [first] = rejections;
  return [
    ...(first === undefined
      ? []
      : [
          refused(
            topic,
            `agents refuse ${first.flag === undefined ? "it" : `its flag ${first.flag}`}: ${first.reason ?? "?"}`,
          ),
        ]),
    ...(state === "stale"
      ? [
          {
            code: "topic-stale",
            where: `FeatureFlag ${topic}`,
            what: staleReason ?? "its source does not answer",
            todo: "see why the proxy can't read it: bunting status --only stale",
          } as const,
        ]
      : []),
  ];
}

function refused(key: string, what: string): CheckFinding {
  return {
    code: "topic-refused",
    where: `FeatureFlag ${key}`,
    what: what.replace(/\.$/, ""),
    todo: "correct its flags; bunting lint finds the same in its file",
  };
}

function stoppedAt(key: string, why: string): CheckFinding {
  return {
    code: "rollout-stopped",
    where: `FeatureFlag ${key}`,
    what: why.replace(/\.$/, ""),
    todo: `go on with bunting rollout resume ${key}, or give it up with bunting rollout abort ${key}`,
  };
}

function judgeLate({
  identity,
  address,
  topic = "?",
  versions = 0,
  behindSeconds = 0,
  leftSecondsAgo,
}: LateStatus): CheckFinding {
  const who = identity ?? address ?? "a subscriber";
  // Callers without identity are known by the address of their Pod only.
  const named =
    identity === undefined && address !== undefined
      ? ` (kubectl get pods --all-namespaces --field-selector status.podIP=${address})`
      : "";
  const missing = `${plural(versions, "version")}, for ${span(behindSeconds)}`;
  return leftSecondsAgo === undefined
    ? {
        code: "subscriber-behind",
        where: `${who} of ${topic}`,
        what: `it lacks ${missing}`,
        todo: `see whether its Pod has too little CPU, or its network loses data${named}`,
      }
    : {
        code: "subscriber-left",
        where: `${who} of ${topic}`,
        what: `it has gone for ${span(leftSecondsAgo)}, and lacked ${missing}`,
        todo: `see whether its Pod is to be there${named}`,
      };
}

import type { InvalidFlag } from "@bunting/evaluation";
import { cut, quoted, singleLine, type Clock, type Readiness } from "@bunting/runtime";
import type { DocumentName } from "../sync/current-document.js";
import { shownUri } from "../sync/shown-uri.js";
import type { SourceStatus } from "../sync/sync-source.js";
import type { StartLimits } from "./start-limits.js";

export interface ServedSource {
  readonly status: SourceStatus;
  readonly servesFlags: boolean;
  /** True if its flags are answered with reason STALE. */
  readonly isStale: boolean;
  readonly name: DocumentName | undefined;
  readonly rejected: readonly InvalidFlag[];
}

export interface AgentReadinessOptions {
  readonly start: StartLimits;
  readonly sources: () => readonly ServedSource[];
  /** Of the list that its sources are made of; absent, or undefined, if it follows none. */
  readonly list?: () => string | undefined;
  readonly clock: Clock;
}

/**
 * Whether the agent is ready: as soon as every source has answered, with a document, even one that is refused, or with the message that there is
 * none, or its last-known-good copy was loaded, or the time limit for that is over, and applications can connect. From then on, only shutting down makes it unready. A missing FeatureFlag, a refused document, an
 * unreachable source and stale flags are reported in the body and as metrics: if they took the agent out of service, one misspelt name would
 * block every rollout, and an outage of one proxy would take every workload down with it.
 */
export class AgentReadiness {
  readonly #options: AgentReadinessOptions;
  #isListening = false;
  #isStopping = false;

  constructor(options: AgentReadinessOptions) {
    this.#options = options;
  }

  /** All ports for applications are open. */
  listening(): void {
    this.#isListening = true;
  }

  stopping(): void {
    this.#isStopping = true;
  }

  check(): Readiness {
    if (this.#isStopping) return { isReady: false, reason: "shutting down" };
    const { start, clock } = this.#options;
    const sources = this.#options.sources();
    const list = this.#options.list?.();
    const lines = sources.map((source) => describe(source, clock.now()));
    if (list !== undefined) lines.push(list);
    const readyWithout = start.readyWithout();
    if (!start.awaitedSources.isComplete && readyWithout === undefined) {
      const reason = [`waiting for the first flags of ${start.awaited()}`, ...lines].join("\n");
      return { isReady: false, reason };
    }
    if (!this.#isListening)
      return { isReady: false, reason: ["the ports for applications are not open yet", ...lines].join("\n") };
    return { isReady: true, reason: [readyWithout ?? headline(sources), ...lines].join("\n") };
  }
}

function headline(sources: readonly ServedSource[]): string {
  if (sources.some(({ isStale }) => isStale)) return "ready, but flags are stale";
  if (sources.some(({ status }) => status.state !== "connected" || status.proxyLost !== undefined))
    return "ready, but flags may be stale";
  const empty = sources.filter(({ status }) => status.warning !== undefined);
  const rejecting = sources.filter(({ rejected }) => rejected.length > 0);
  if (empty.length + rejecting.length === 0) return "ready";
  const without = empty.filter(({ servesFlags }) => !servesFlags);
  const previous = empty.filter(({ servesFlags }) => servesFlags);
  const parts = [
    ...(without.length === 0 ? [] : [`without flags of ${named(without)}`]),
    ...(previous.length === 0 ? [] : [`with the previous flags of ${named(previous)}`]),
    ...(rejecting.length === 0 ? [] : [`with rejected flags of ${named(rejecting)}`]),
  ];
  return `ready, but ${parts.join(" and ")}`;
}

function named(sources: readonly ServedSource[]): string {
  return sources
    .map(({ status: { uri, selector } }) => (selector === "" ? shownUri(uri) : selector))
    .join(", ");
}

function describe({ status: source, isStale, name, rejected }: ServedSource, now: number): string {
  const seconds = (since: number): string => `${Math.max(0, Math.round((now - since) / 1_000))} s`;
  const selector = source.selector === "" ? "" : ` (${source.selector})`;
  const none = name === undefined ? "no flags yet" : "flags from disk";
  const age = source.lastUpdate === undefined ? none : `newest flags ${seconds(source.lastUpdate)} old`;
  const { digest, resourceVersion } = name ?? {};
  const version =
    (resourceVersion === undefined ? "" : `, resourceVersion ${resourceVersion}`) +
    (digest === undefined ? "" : `, digest ${digest}`);
  const protocol = source.protocol === undefined ? "" : ` (${source.protocol})`;
  const advice = source.advice === undefined ? "" : `; ${source.advice}`;
  const problem =
    source.error === undefined
      ? source.proxyLost
      : `${source.cause ?? "unreachable"}: ${source.error.replace(/\.$/, "")}${advice}`;
  const reason = [problem, source.warning].filter((each) => each !== undefined).join("; ");
  return `source ${source.sourceIndex} ${shownUri(source.uri)}${selector}: ${source.state} for ${seconds(source.since)}${protocol}, ${age}${version}${isStale ? ", answered as STALE" : ""}${reason === "" ? "" : `: ${reason}`}${rejectionsText(rejected)}`;
}

/** The reason of the first one is enough to look for: the log has them all, and so has `bunting lint`. */
function rejectionsText([first, ...others]: readonly InvalidFlag[]): string {
  if (first === undefined) return "";
  const more = others.length === 0 ? "is" : `and ${others.length} more are`;
  return `; the flag ${quoted(first.key)} ${more} rejected: ${singleLine(cut(first.reason, 300))}`;
}

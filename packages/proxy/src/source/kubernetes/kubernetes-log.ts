import { KubeError } from "@bunting/kube";
import { ProtocolError, type DocumentWarning, type RefusedFlag, type TopicKey } from "@bunting/protocol";
import { messageOf, type Clock, type Logger } from "@bunting/runtime";
import { crowdedOutText, isCrowdedOut } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";
import type { WatchScope } from "./plan-watches.js";

/** How many watches fail: those that RBAC refuses, and the others. */
export interface FailingWatches {
  readonly refused: number;
  readonly others: number;
}

/** An outage, which is logged once it has lasted. */
interface Outage {
  /** Ends the wait for the line. */
  cancel?: (() => void) | undefined;
  isLogged: boolean;
}

/** An outage shorter than this is not logged. */
const timeoutMs = 5_000;
/** More warnings on one version of a FeatureFlag are counted but not spelled out. */
const maxWarnings = 20;
/** Limit of FeatureFlags whose last logged version is kept. */
const maxRemembered = 2_000;

const maxPathCharacters = 300;

/**
 * What the kubernetes source logs and counts: one line per outage, not one per watch or retry, and what is wrong with a version of a
 * FeatureFlag once: a peer that subscribes and leaves again has it read as often as it likes.
 */
export class KubernetesLog {
  readonly #logger: Logger;
  readonly #metrics: SourceMetrics;
  readonly #clock: Clock;
  readonly #watchScope: WatchScope;
  /** The version that was logged last, the longest ago first. */
  readonly #loggedVersions = new Map<string, string>();
  /** Apart, because a FeatureFlag that is refused for ever must not hide that the API server is away. */
  readonly #outages: Readonly<Record<keyof FailingWatches, Outage>> = {
    refused: { isLogged: false },
    others: { isLogged: false },
  };

  constructor(logger: Logger, metrics: SourceMetrics, clock: Clock, watchScope: WatchScope) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#watchScope = watchScope;
  }

  /** A watch failed. `failing` counts the watches that fail at the time the line is written. */
  failed(error: KubeError, failing: () => FailingWatches): void {
    this.#logger.debug({ error }, "a watch failed and will be re-opened");
    this.#outage(error, () => {
      const watches = failing()[kindOf(error)];
      return watches === 0 ? undefined : { watches };
    });
  }

  /** The API server has not answered yet. Without subscribers there is no watch that would show it. */
  unreached(error: unknown, hasAnswered: () => boolean): void {
    this.#metrics.sourceError("contact");
    this.#logger.debug({ error }, "the API server does not answer yet; it is asked again");
    if (error instanceof KubeError) this.#outage(error, () => (hasAnswered() ? undefined : {}));
  }

  /** The API server has answered for the first time. A watch that fails all the same is logged anew. */
  reached(): void {
    const { refused, others } = this.#outages;
    if ([refused, others].filter(ended).length > 0) this.#logger.info("the API server answers");
  }

  /** @param fields of the line, to be asked for when it is due; undefined if the outage is over by then */
  #outage(error: KubeError, fields: () => Readonly<Record<string, unknown>> | undefined): void {
    const outage = this.#outages[kindOf(error)];
    if (outage.isLogged) return;
    outage.cancel ??= this.#clock.after(timeoutMs, () => {
      outage.cancel = undefined;
      const due = fields();
      if (due === undefined) return;
      outage.isLogged = true;
      const reason = `${error.message}${remedyOf(error, this.#watchScope)}`;
      this.#logger.warn(
        { ...due, code: error.code, reason },
        "FeatureFlags can't be watched; the last known versions are served",
      );
    });
  }

  /** A watch works again, or is only refused; `failing` others are not. */
  recovered({ refused, others }: FailingWatches): void {
    const wasRefused = refused === 0 && ended(this.#outages.refused);
    const wasAway = others === 0 && ended(this.#outages.others);
    if (others > 0 || !(wasRefused || wasAway)) return;
    if (refused === 0) this.#logger.info("all FeatureFlags are watched again");
    else this.#logger.info({ refused }, "FeatureFlags are watched again, except those that RBAC refuses");
  }

  stop(): void {
    this.#outages.refused.cancel?.();
    this.#outages.others.cancel?.();
  }

  /** A FeatureFlag wants to be pushed progressively, and nobody says in its status how far. */
  unpaced(topic: TopicKey, resourceVersion: string): void {
    if (this.#isLogged("unpaced", topic, resourceVersion)) return;
    this.#logger.info(
      { topic },
      "a FeatureFlag has spec.rollout, and its status does not say which version all agents have: its newest is served to all. The operator writes the status, if it deploys the proxy and counts agents",
    );
  }

  /** A version of a FeatureFlag is not served: it is invalid, there is no memory for it, or (any other error) it brought out a bug. */
  refused(topic: TopicKey, resourceVersion: string, error: unknown): void {
    const isLogged = this.#isLogged("refused", topic, resourceVersion);
    if (isCrowdedOut(error)) {
      if (!isLogged) this.#logger.error({ topic, reason: messageOf(error) }, crowdedOutText);
      return;
    }
    this.#metrics.documentInvalid("document");
    if (error instanceof ProtocolError) {
      if (isLogged) return;
      const fields = { topic, path: shown(error.path), reason: error.message };
      this.#logger.error(
        fields,
        "a FeatureFlag is invalid and not served; its last valid version stays in force",
      );
      return;
    }
    this.#metrics.sourceError("defect");
    if (isLogged) return;
    this.#logger.error(
      { topic, error },
      "a bug of Bunting kept a FeatureFlag from being served; its last valid version stays in force; please report it",
    );
  }

  /** Flags of a FeatureFlag whose other flags are served. */
  refusedFlags(topic: TopicKey, resourceVersion: string, refused: readonly RefusedFlag[]): void {
    const problems = refused.flatMap((flag) => flag.problems);
    problems.forEach(() => this.#metrics.documentInvalid("document"));
    if (problems.length === 0 || this.#isLogged("flags", topic, resourceVersion)) return;
    for (const { path, message } of problems.slice(0, maxWarnings)) {
      const fields = { topic, resourceVersion, path: shown(path), reason: message };
      this.#logger.error(
        fields,
        "a flag of a FeatureFlag is invalid; its last valid version, if it had one, is still served",
      );
    }
    const more = problems.length - maxWarnings;
    if (more > 0) this.#logger.error({ topic, more }, "the FeatureFlag has more errors like these");
  }

  warnings(topic: TopicKey, resourceVersion: string, warnings: readonly DocumentWarning[]): void {
    for (const { path } of warnings)
      this.#metrics.documentWarning(path.at(-2) === "metadata" ? "stripped_metadata" : "other");
    if (warnings.length === 0 || this.#isLogged("warnings", topic, resourceVersion)) return;
    for (const { path, message } of warnings.slice(0, maxWarnings)) {
      const fields = { topic, resourceVersion, path: shown(path), warning: message };
      this.#logger.warn(fields, "a FeatureFlag is served with a warning");
    }
    const more = warnings.length - maxWarnings;
    if (more > 0) this.#logger.warn({ topic, more }, "the FeatureFlag has more warnings like these");
  }

  /** True if this was logged for this version already; counts it as logged. */
  #isLogged(
    what: "refused" | "flags" | "warnings" | "unpaced",
    topic: TopicKey,
    resourceVersion: string,
  ): boolean {
    const versions = this.#loggedVersions;
    const key = `${what} ${topic}`;
    if (versions.get(key) === resourceVersion) return true;
    versions.delete(key);
    versions.set(key, resourceVersion);
    const [oldest] = versions.keys();
    if (versions.size > maxRemembered && oldest !== undefined) versions.delete(oldest);
    return false;
  }

  /** An edit came, with the time at which its author made it if that is known. */
  written(atMs: number | undefined): void {
    if (atMs !== undefined) this.#metrics.writtenToEvent(Math.max(0, this.#clock.now() - atMs));
  }
}

function kindOf({ code }: KubeError): keyof FailingWatches {
  return code === "FORBIDDEN" ? "refused" : "others";
}

/** Ends an outage. True if it was logged. */
function ended(outage: Outage): boolean {
  const { isLogged } = outage;
  outage.cancel?.();
  outage.cancel = undefined;
  outage.isLogged = false;
  return isLogged;
}

/** With only one kind of watch, nothing else is tried when RBAC refuses it. */
const places = {
  auto: "",
  object: "",
  namespace:
    " in whole namespaces, or start the proxy with --watch-scope=auto, which can watch them one by one",
  cluster:
    " in the whole cluster, or start the proxy with --watch-scope=auto, which can watch them one by one",
} satisfies Record<WatchScope, string>;

/** A path in the log, cut: keys may be as long as the document. */
function shown(path: readonly string[]): string {
  return path.join(".").slice(0, maxPathCharacters);
}

function remedyOf({ code }: KubeError, watchScope: WatchScope): string {
  switch (code) {
    case "FORBIDDEN":
      return `; allow this user to get, list and watch featureflags${places[watchScope]}`;
    case "NOT_FOUND":
      return "; install the CustomResourceDefinition featureflags.core.openfeature.dev";
    default:
      return "";
  }
}

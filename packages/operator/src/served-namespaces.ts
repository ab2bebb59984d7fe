import type { ResourceType } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import { OperatorError } from "./operator-error.js";
import type { OperatorOptions } from "./options.js";
import type { ProcessOfOperatorMetrics } from "./process-of-operator-metrics.js";

/** Each has a dozen watches of its own: an operator of more of them costs an API server more than one of all. */
const mostNamespaces = 100;

/**
 * The namespaces that the operator serves; undefined: all.
 *
 * @throws OperatorError OPTION_INVALID for options that need more than rights in these.
 */
export function servedNamespaces({
  watchNamespaces,
  agentRollouts,
}: Pick<OperatorOptions, "watchNamespaces" | "agentRollouts">): readonly string[] | undefined {
  if (watchNamespaces.length === 0) return undefined;
  if (agentRollouts)
    throw new OperatorError(
      "OPTION_INVALID",
      "--agent-rollouts obeys objects of the whole cluster, which an operator with --watch-namespaces may not read: leave one of them out",
    );
  if (watchNamespaces.length > mostNamespaces)
    throw new OperatorError(
      "OPTION_INVALID",
      `--watch-namespaces names ${watchNamespaces.length} namespaces, and at most ${mostNamespaces} can be watched one by one: name none to serve all, or run several operators`,
    );
  return watchNamespaces;
}

type UnreadContext = Pick<Context<Pick<ProcessOfOperatorMetrics, "unreadNamespace">>, "logger" | "metrics">;

/** The namespaces to serve in which something can't be read: they do not exist, or lack the operator's Role. */
export class UnreadNamespaces {
  readonly #context: UnreadContext;
  /** By namespace: what can't be read there. */
  readonly #refused = new Map<string, Set<string>>();

  constructor(context: UnreadContext) {
    this.#context = context;
  }

  get names(): readonly string[] {
    return [...this.#refused.keys()].sort();
  }

  /** To be called with each read of objects of a type, when it is refused, and with undefined when they are read no longer. */
  heard(namespace: string, { plural }: ResourceType, isRead: boolean | undefined): void {
    const { logger, metrics } = this.#context;
    const refused = this.#refused.get(namespace);
    if (isRead === false && refused === undefined) {
      this.#refused.set(namespace, new Set([plural]));
      metrics.unreadNamespace(namespace, 1);
      logger.warn(
        { namespace, type: plural },
        "nothing is served in the namespace, where the operator may not read: create the namespace, and the Role of the operator in it (docs/reference/operator-permissions.md); it is tried again",
      );
    } else if (isRead === false) refused?.add(plural);
    else if (refused?.delete(plural) === true && refused.size === 0) {
      this.#refused.delete(namespace);
      metrics.unreadNamespace(namespace, 0);
      if (isRead === true) logger.info({ namespace }, "the namespace is served now");
    }
  }

  /** What completes "ready, but …". */
  remarks(): readonly string[] {
    const { names } = this;
    return names.length === 0
      ? []
      : [`nothing is served in ${names.join(", ")}, where the operator may not read`];
  }
}

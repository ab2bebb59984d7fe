import type { CheckFinding } from "../finding-codes.js";
import type { OperatedBy } from "../operated-by.js";
import type { AskedProxies, AskedProxy } from "../proxy/ask-proxies.js";
import type { SyncOutcome } from "../proxy/probe-sync.js";

export interface ProxiesFacts {
  readonly proxies: AskedProxies;
  /** A FeatureFlagSource or a Pod that needs a proxy, if there is one. */
  readonly neededBy: string | undefined;
  /** Of the proxies; undefined if one was asked by its address. */
  readonly namespace: string | undefined;
  readonly operatedBy: OperatedBy;
  /** Namespaces in which operators are, and the proxies that they make. */
  readonly operators: readonly string[];
}

export function judgeProxies({
  proxies,
  neededBy,
  namespace,
  operatedBy,
  operators,
}: ProxiesFacts): readonly CheckFinding[] {
  const elsewhere = namespace === undefined || operators.includes(namespace) ? undefined : operators[0];
  const found = proxies.flatMap((one) => judgeProxy(one, operatedBy));
  if (namespace === undefined) return found;
  if (neededBy === undefined) return proxies.length > 0 ? found : [absent(namespace)];
  if (proxies.length > 0)
    return elsewhere === undefined ? found : [...found, otherProxy(neededBy, namespace, elsewhere)];
  return [
    {
      code: "proxy-missing",
      where: `namespace ${namespace}`,
      what: `no Pod of a proxy runs, and ${neededBy} needs one`,
      todo:
        elsewhere !== undefined
          ? `check the namespace of the operator: bunting check -n ${elsewhere}`
          : `see what the operator logs, or name another namespace: kubectl -n ${namespace} get deployment,pods`,
    },
  ];
}

/** Where nothing needs a proxy, the operator makes none: it is not wrong, and nothing has been checked. */
function absent(namespace: string): CheckFinding {
  return {
    code: "proxy-absent",
    where: `namespace ${namespace}`,
    what: "no Pod of a proxy runs",
    todo: "nothing, until something is to get flags: the operator makes a proxy with the first FeatureFlagSource or Pod that needs one; if there is a proxy, name its namespace with --namespace, or its address with --proxy",
  };
}

/** Sidecars of this source are sent to the proxy of the operator, and the one that was checked is another. */
function otherProxy(neededBy: string, namespace: string, elsewhere: string): CheckFinding {
  return {
    code: "proxy-elsewhere",
    where: neededBy,
    what: `its provider flagd-proxy is the proxy in ${elsewhere}, and those that were checked are in ${namespace}`,
    todo: `check that one, too: bunting check -n ${elsewhere}; or have the source name the proxy of ${namespace} (docs/operate/proxy.md#in-place-of-flagd-proxy)`,
  };
}

function judgeProxy({ name, answer }: AskedProxy, operatedBy: OperatedBy): readonly CheckFinding[] {
  const where = `proxy ${name}`;
  switch (answer.kind) {
    case "unreachable":
      return [
        {
          code: "proxy-unreachable",
          where,
          what: answer.message,
          todo: "see whether its Pod runs, and name its management port",
        },
      ];
    case "unreadable":
      return [
        {
          code: "not-checked",
          where,
          what: answer.message,
          todo:
            operatedBy === "stock"
              ? "ask where its status may be read; if this is flagd-proxy, it has none, and no more can be checked of it"
              : "ask where its status may be read",
        },
      ];
    case "status":
      if (answer.status.isReady) return [];
      return [
        {
          code: "proxy-unready",
          where,
          what: answer.status.reason ?? "it does not say why",
          todo: "see what it logs",
        },
      ];
  }
}

/** Outcome of a connection to the sync port of a proxy. */
export interface SyncFacts {
  readonly where: string;
  /** Undefined if nobody said where that port is. */
  readonly outcome: SyncOutcome | undefined;
  readonly hasTls: boolean;
  readonly hasToken: boolean;
}

/** @param facts of the proxies of a namespace, or of the one that was named */
export function judgeSync(facts: readonly SyncFacts[], namespace: string): readonly CheckFinding[] {
  if (facts.length === 0) return [absent(namespace)];
  return facts.flatMap((one) => findingOfSync(one) ?? []);
}

function findingOfSync({ where, outcome, hasTls, hasToken }: SyncFacts): CheckFinding | undefined {
  if (outcome === undefined)
    return {
      code: "not-checked",
      where,
      what: "the address of its sync port is not known",
      todo: "name it with --sync",
    };
  const { kind, message: what } = outcome;
  switch (kind) {
    case "serves":
      return undefined;
    case "refuses":
      return { code: "proxy-refuses", where, what, todo: "name the sync port of a proxy, 8015 by default" };
    case "unauthenticated":
      return hasToken
        ? {
            code: "proxy-token",
            where,
            what,
            todo: "see docs/security.md for the audience that a token needs",
          }
        : { code: "not-checked", where, what, todo: "present a token with --token-file" };
    case "lost":
      if (hasTls)
        return { code: "proxy-tls", where, what, todo: "see docs/tls.md for its certificate and authority" };
      return what.includes("--tls")
        ? { code: "not-checked", where, what, todo: "connect with --tls, or with --ca-file" }
        : { code: "proxy-refuses", where, what, todo: "see whether its Pod runs, and name its sync port" };
  }
}

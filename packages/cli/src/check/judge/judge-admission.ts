import type { CheckPhase } from "../check.js";
import type { CheckFinding } from "../finding-codes.js";
import type { OperatedBy } from "../operated-by.js";

export interface AdmissionFacts {
  readonly phase: CheckPhase;
  readonly operatedBy: OperatedBy;
  /** True if the API server has MutatingAdmissionPolicies. */
  readonly servesPolicies: boolean;
  /** Names of policies that inject, and of those that have a binding. */
  readonly policies: readonly string[];
  readonly bound: ReadonlySet<string>;
  /** Of each operator: the webhooks that inject, and those that check. */
  readonly webhooks: readonly WebhookFacts[];
}

export interface WebhookFacts {
  readonly kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration";
  readonly name: string;
  readonly hasAuthority: boolean;
  /** The Pod whose certificate does not hold by it, and why, if one could be asked. */
  readonly refused?: string | undefined;
}

/** What API servers do not accept of those whom they are to ask. */
function judgeAuthorities(webhooks: readonly WebhookFacts[], todo: string): readonly CheckFinding[] {
  return webhooks.flatMap(({ kind, name, hasAuthority, refused }): CheckFinding[] => {
    if (hasAuthority && refused === undefined) return [];
    const what = hasAuthority
      ? `its caBundle does not verify the certificate that is served, so calls of it fail (${refused})`
      : "it has no caBundle, so calls of it fail";
    return [{ code: "webhook-authority", where: `${kind} ${name}`, what, todo }];
  });
}

export function judgeAdmission(facts: AdmissionFacts): readonly CheckFinding[] {
  if (facts.phase === "pre") return judgeServed(facts);
  return facts.operatedBy === "stock" ? judgeStock(facts) : judgeInstalled(facts);
}

function judgeServed({ servesPolicies }: AdmissionFacts): readonly CheckFinding[] {
  if (servesPolicies) return [];
  return [
    {
      code: "policies-not-served",
      where: "API server",
      what: "it has no MutatingAdmissionPolicies, so Pods get no sidecar while no replica of the operator answers",
      todo: "upgrade to Kubernetes 1.36, or go on with the webhook",
    },
  ];
}

/** Of the open-feature-operator, which has no policy. */
function judgeStock({ policies, webhooks }: AdmissionFacts): readonly CheckFinding[] {
  const left = policies.map((name): CheckFinding => ({
    code: "policy-left",
    where: `MutatingAdmissionPolicy ${name}`,
    what: "it is there, and the operator of Bunting is not: Pods get what that one has compiled last",
    todo: "delete the policies: kubectl delete -k deploy/policies (docs/operate/migrate.md)",
  }));
  if (!webhooks.some(isInjecting))
    return [
      ...left,
      {
        code: "admission-missing",
        where: "cluster",
        what: "the webhook of the open-feature-operator is not installed, so nobody gives Pods their flags",
        todo: "upgrade the release of the open-feature-operator: its chart has the webhook",
      },
    ];
  const todo =
    "see whether cert-manager runs, and what its cainjector logs: it writes the bundle for the open-feature-operator";
  return [...left, ...judgeAuthorities(webhooks, todo)];
}

function isInjecting({ kind }: WebhookFacts): boolean {
  return kind === "MutatingWebhookConfiguration";
}

function judgeInstalled({ policies, bound, webhooks }: AdmissionFacts): readonly CheckFinding[] {
  if (policies.length === 0 && !webhooks.some(isInjecting))
    return [
      {
        code: "admission-missing",
        where: "cluster",
        what: "it has neither the policy nor the webhook, so nobody gives Pods their flags",
        todo: "install the chart bunting-operator",
      },
    ];
  const unbound = policies.filter((name) => !bound.has(name));
  return [
    ...unbound.map((name): CheckFinding => ({
      code: "policy-unbound",
      where: `MutatingAdmissionPolicy ${name}`,
      what: "it has no MutatingAdmissionPolicyBinding",
      todo: "apply the policies of the chart again (deploy/policies)",
    })),
    ...judgeAuthorities(
      webhooks,
      "see what the leader of the operator logs: it writes the bundle within seconds",
    ),
  ];
}

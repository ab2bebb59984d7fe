import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { CheckPhase } from "./check.js";
import { foundOr } from "./not-checked-error.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { AdmissionFacts } from "./judge/judge-admission.js";

const group = "admissionregistration.k8s.io";

/** Reads which policies and webhooks give Pods their sidecars in a cluster. */
export async function readAdmission(survey: ClusterSurvey, phase: CheckPhase): Promise<AdmissionFacts> {
  const { reader } = survey;
  const version = await survey.servesAny(group, ["v1", "v1beta1"], "mutatingadmissionpolicies");
  const namesOf = async (plural: string): Promise<readonly string[]> => {
    if (version === undefined || phase === "pre") return [];
    const answer = await reader.collect({ type: { group, version, plural } }, (object) => {
      const { policyName = object.metadata.name } = (object["spec"] ?? {}) as {
        readonly policyName?: string;
      };
      return policyName;
    });
    return foundOr(answer, plural, []).filter((name) => name.startsWith(objectNames.policy));
  };
  const [policies, bound, webhook] = await Promise.all([
    namesOf("mutatingadmissionpolicies"),
    namesOf("mutatingadmissionpolicybindings"),
    phase === "pre" ? undefined : readWebhook(survey),
  ]);
  const operatedBy = phase === "pre" ? "bunting" : await survey.operatedBy();
  return {
    phase,
    operatedBy,
    servesPolicies: version !== undefined,
    policies,
    bound: new Set(bound),
    webhook,
  };
}

async function readWebhook({ reader }: ClusterSurvey): Promise<AdmissionFacts["webhook"]> {
  const name = objectNames.mutatingWebhook;
  const answer = await reader.find({ type: clusterTypes.mutatingWebhook, name });
  const object = foundOr(answer, `MutatingWebhookConfiguration ${name}`, undefined);
  if (object === undefined) return undefined;
  const { webhooks = [] } = object as {
    readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
  };
  return { name, hasAuthority: webhooks.every(({ clientConfig }) => (clientConfig?.caBundle ?? "") !== "") };
}
